"""Prints where the build environment's wheels of oneDNN put libdnnl.so.3, the directory of its headers, and the licences that go with it."""
import os
import sys
from importlib.metadata import PackageNotFoundError, files


def locate(distribution, name, parent):
    for f in files(distribution) or []:
        if f.name == name and parent in ('', f.parent.name):
            return os.path.realpath(str(f.locate()))
    sys.exit(f'the wheel {distribution} holds no {name}')


try:
    library = locate('onednn-cpu-gomp', 'libdnnl.so.3', '')
    header = locate('onednn-devel-cpu-gomp', 'dnnl.h', 'dnnl')
    licences = [locate('onednn-cpu-gomp', name, 'onednn') for name in ('LICENSE', 'THIRD-PARTY-PROGRAMS')]
except PackageNotFoundError as missing:
    sys.exit(f'{missing}: it is a build requirement (see pyproject.toml)')
print(library, os.path.dirname(os.path.dirname(os.path.dirname(header))), *licences, sep='\n')
