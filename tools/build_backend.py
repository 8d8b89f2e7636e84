"""The build backend: meson-python's, but a wheel gets the manylinux tag that its libraries keep. Editable builds and sdists are meson-python's own.

Building is what decides on which systems the libraries load, so only then can the tag be known; where none fits, `linux_*` stays.
"""
import sys
from pathlib import Path

from mesonpy import build_editable, build_sdist, get_requires_for_build_editable, get_requires_for_build_sdist, get_requires_for_build_wheel
from mesonpy import build_wheel as build_untagged

import manylinux

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
           "get_requires_for_build_wheel"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel = Path(wheel_directory) / build_untagged(wheel_directory, config_settings, metadata_directory)
    try:
        wheel = manylinux.retag(wheel, manylinux.platform_of(wheel))
    except manylinux.NoPlatform as reason:
        print(f"{wheel.name} keeps its tag: {reason}", file=sys.stderr)
    return wheel.name
