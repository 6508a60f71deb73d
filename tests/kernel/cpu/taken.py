# SPDX-License-Identifier: GPL-2.0-or-later
"""What the catalogue says of one compiler, to hold it against compilers and Kconfig."""

from kernsmith.kernel.cpu.catalogue import Release, Target


def taken_by(target: Target, family: str, release: Release) -> bool:
    """Whether a release of `gcc` or `clang` takes the target's word for `-march=`."""
    first = target.releases(family)
    until = target.until(family)
    if not first or (until is not None and release >= until):
        return False
    branch = [entry for entry in first if entry[0] == release[0]]
    return release >= (branch[0] if branch else first[-1])
