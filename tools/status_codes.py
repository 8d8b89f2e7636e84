"""Writes the table of status codes in ortcore.h as a Python module: status_codes.py HEADER OUTPUT."""
import re
import sys

ROW = re.compile(r"X\((\w+), (\d+), (\w+), (\w+)\)")


def main() -> None:
    header, output = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        rows = ROW.findall(file.read())
    with open(output, "w", encoding="utf-8") as file:
        file.write('"""Made from ortcore.h: status name, code, exception class, builtin base."""\n\n')
        file.write("STATUS_CODES: list[tuple[str, int, str, type[BaseException]]] = [\n")
        for status, code, name, builtin in rows:
            file.write(f'    ("{status}", {code}, "{name}", {builtin}),\n')
        file.write("]\n")


if __name__ == "__main__":
    main()
