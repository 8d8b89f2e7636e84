"""Writes a header with ORTCORE_BUILD_ID: the version and a hash of the headers that libortcore.so and its plugins share.

python build_id.py OUTPUT VERSION HEADER...
"""
import hashlib
import sys
from pathlib import Path

output, version, *headers = sys.argv[1:]
digest = hashlib.sha256()
for header in headers:
    digest.update(Path(header).read_bytes())
Path(output).write_text(f'#define ORTCORE_BUILD_ID "{version}+{digest.hexdigest()[:16]}"\n')
