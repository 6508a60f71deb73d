# SPDX-License-Identifier: GPL-2.0-or-later
"""What the linker of an LTO kernel is told: most of its code is generated there.

clang's flags for its back end do not travel in bitcode (attributes of functions do: `-march`,
`-falign-functions`, `-fprofile-sample-accurate`), and lld optimises by -O2 if it is not told
otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from kernsmith.kernel.config import LTO_SYMBOLS


def lto_flags(
    requested: Mapping[str, str],
    code_flags: Sequence[str],
    variables: Mapping[str, str],
    linker_version: int,
    *,
    backported: Collection[str] = (),
) -> tuple[str, ...]:
    """Flags for the linker, beside those of the kernel's own Makefiles; none without LTO.

    requested: config symbols. code_flags: what the compiler is told. variables: what kbuild is told
    of profiles. linker_version: major version of lld. backported: config symbols that the tree is
    too old for and that flags stand in for: none of its Makefiles tells the linker anything.
    """
    if not any(requested.get(symbol) == "y" for symbol in LTO_SYMBOLS):
        return ()
    back_end = [
        word
        for first, second in pairwise(code_flags)
        if first == "-mllvm"
        for word in (first, second)
    ]
    level = ["--lto-O3"] if "-O3" in code_flags else []
    full = requested.get("LTO_CLANG_FULL") == "y"
    symbols = (dict(requested) if full else {}) | dict.fromkeys(backported, "y")
    of_profiles = _of_profiles(symbols, variables, linker_version)
    return (*level, *back_end, *of_profiles)


def _of_profiles(
    symbols: Mapping[str, str], variables: Mapping[str, str], linker_version: int
) -> list[str]:
    """What scripts/Makefile.autofdo and scripts/Makefile.propeller hand to the linker for ThinLTO.
    They do so for no other LTO."""
    flags: list[str] = []
    if symbols.get("AUTOFDO_CLANG") == "y":
        for option in ("enable-fs-discriminator=true", "improved-fs-discriminator=true"):
            flags += ["-mllvm", f"-{option}"]
        if profile := variables.get("CLANG_AUTOFDO_PROFILE"):
            flags += [f"--lto-sample-profile={profile}", "-mllvm", "-split-machine-functions"]
    if symbols.get("PROPELLER_CLANG") == "y":
        if prefix := variables.get("CLANG_PROPELLER_PROFILE_PREFIX"):
            flags.append(f"--lto-basic-block-sections={prefix}_cc_profile.txt")
        elif linker_version >= 20:
            flags.append("--lto-basic-block-address-map")
        else:
            flags.append("--lto-basic-block-sections=labels")
    return flags
