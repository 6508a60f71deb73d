# SPDX-License-Identifier: GPL-2.0-or-later
"""Root file systems for the guest: Debian's packages, or a folder or an image of the user's."""

from kernsmith.root.debian import (
    DEFAULT_COMPONENTS,
    check_component,
    check_package,
    debian_root,
    known_root,
)
from kernsmith.root.image import RootImage, root_of

__all__ = [
    "DEFAULT_COMPONENTS",
    "RootImage",
    "check_component",
    "check_package",
    "debian_root",
    "known_root",
    "root_of",
]
