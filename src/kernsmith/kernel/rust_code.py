# SPDX-License-Identifier: GPL-2.0-or-later
"""What kbuild is told for code in Rust, beside which programs it is built with.

`RUSTFLAGS_KERNEL` and the like: Documentation/kbuild/kbuild.rst.
rustc is started by kbuild itself: ccache does not know it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kernsmith.kernel.config import DEBUG_INFO_SYMBOLS
from kernsmith.kernel.toolchain import Rust, rust_flags

# A flag of kbuild's by which rustc writes this machine's paths into debug information.
_MACROS_ONLY = "--remap-path-scope=macro"


def rust_variables(
    rust: Rust, requested: Mapping[str, str], flags: Sequence[str], output: Path, tree: Path
) -> dict[str, str]:
    """Variables of make for a kernel with code in Rust.

    requested: its config symbols. flags: what the C compiler is told about all code.
    output: kbuild's. tree: the kernel's source.
    """
    places = ((output, "."), (f"{tree}/", ""), (rust.library, "library"))
    here = [f"--remap-path-prefix={place}={name}" for place, name in places]
    behind = " ".join(flags_behind(requested))
    return {
        **dict(rust.make_variables),
        "KRUSTFLAGS": " ".join([*here, *rust_flags(flags)]),
        "rustflags-remove-y": _MACROS_ONLY,
        **({"RUSTFLAGS_KERNEL": behind, "RUSTFLAGS_MODULE": behind} if behind else {}),
    }


def flags_behind(requested: Mapping[str, str]) -> tuple[str, ...]:
    """What rustc is told behind all that kbuild says.

    scripts/Makefile.autofdo has it write line tables alone where a config asks for no debug
    information. In clang's are the symbols and first lines of functions that were inlined, as
    `-fdebug-info-for-profiling` says; in rustc's (1.97) they are not, and nothing of a profile is
    found in the code again.
    """
    if requested.get("AUTOFDO_CLANG") != "y":
        return ()
    if any(requested.get(symbol) == "y" for symbol in DEBUG_INFO_SYMBOLS):
        return ()
    return ("-Cdebuginfo=limited",)
