"""The ABI is the header: what libortcore.so exports is what ortcore.h declares, no more and no less; and the header compiles
without a warning in every language standard that it promises.

    abi.py <ortcore.h> <libortcore.so> <cc> <c++>
"""
import re
import subprocess
import sys

STANDARDS = [("c", "-std=c11"), ("c", "-std=c17"), ("c++", "-std=c++17"), ("c++", "-std=c++20")]
# Uses a macro, an enum, a struct and a function, so that their declarations are looked at.
PROGRAM = """
#include <ortcore.h>
int main(void) {
  ortc_arena_config config = {sizeof(ortc_arena_config), 0, -1, -1, -1, -1, -1};
  return config.size == 0 || ORTC_ABI_VERSION != 1 || ORTC_FLOAT6E3M2 != 28 || ORTC_OUT_OF_MEMORY != 15 || sizeof(&ortc_session_run_binding) == 0;
}
"""


def declared(header):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", open(header, encoding="utf-8").read(), flags=re.S)
    return set(re.findall(r"ORTC_API\s[^;]*?\b(ortc_\w+)\s*\(", text))


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1] for line in lines}


def main(header, library, cc, cxx):
    failures = []
    missing, surplus = declared(header) - exported(library), exported(library) - declared(header)
    if missing:
        failures.append(f"declared but not exported: {sorted(missing)}")
    if surplus:
        failures.append(f"exported but not declared: {sorted(surplus)}")
    include = header.rsplit("/", 1)[0]
    for language, standard in STANDARDS:
        compiler = cc if language == "c" else cxx
        command = [compiler, "-x", language, standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}", "-"]
        result = subprocess.run(command, input=PROGRAM, capture_output=True, text=True)
        if result.returncode:
            failures.append(f"{standard}: {result.stderr}")
    print("\n".join(failures) or "the header and the library agree")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
