# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel was compiled and linked with, beside its source and its config.

kbuild is told by variables of make, which a kernel's provenance has in its command line. Here they
are taken apart again: which are for anybody who builds the same source, and which files they name.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.study.steps import find_step_kind

# kernsmith's own: what its compiler and its stand-in for the link script read.
_OWN = "KERNSMITH_"
_PREFIX = "CLANG_PROPELLER_PROFILE_PREFIX"
_HERE = "-ffile-prefix-map="
# Programs, by the names that they have here; what is of one machine; and a script that lies in
# kbuild's output.
_OF_HERE = ("ARCH", "AWK", "CC", "HOSTCC", "KAFLAGS", "LD", "LDFLAGS_MODULE", "LLVM")
_SUFFIXES = (".afdo", ".instrumented", ".order", ".txt")


@dataclass(frozen=True)
class BuildFlags:
    """Variables of make for a build of the same source with the same profile.

    variables: names and values, in which `{folder}` stands for where the files are.
    files: what they name. options: config symbols of the steps, without `CONFIG_`.
    """

    variables: dict[str, str]
    files: tuple[Path, ...]
    options: dict[str, str]


def build_flags(kernel: Kernel) -> BuildFlags:
    """The variables, files and config symbols of a kernel.

    Raises:
        UserError: it was made in a way that no variables tell: by BOLT, or by counters; or a
            profile of it is gone.
    """
    if "bolted" in kernel.provenance:
        raise UserError(
            "BOLT has rewritten the linked kernel: no flags make it; export the one below it, "
            f"{kernel.provenance['bolted']['kernel'][:20]}"
        )
    told = make_variables(kernel)
    if "KERNSMITH_PROFILE" in told:
        raise UserError(
            "the step instrumented gives each object its own flags by kernsmith's compiler: there "
            "are no flags to export; take a kernel with autofdo"
        )
    files = profile_files(kernel)
    _refuse_gone(told, files)
    variables = {
        name: value
        for name, value in told.items()
        if not name.startswith((_OWN, "KRUST", "RUST", "BINDGEN")) and name not in _OF_HERE
    }
    flags = shlex.split(variables.get("KCFLAGS", ""))
    variables["KCFLAGS"] = " ".join(word for word in flags if not word.startswith(_HERE))
    variables |= _programs(kernel)
    # What the linker is told beside kbuild's own words: of LTO, and of steps in older trees.
    variables["LD"] = " ".join([variables["LD"], *told.get("LD", "").split()[1:]])
    if "reordered" in kernel.provenance:
        order = kernel.folder / "order"
        variables["LD"] += f" --symbol-ordering-file={order} --no-warn-symbol-ordering"
        files = (*files, order)
    placed = {name: _placed(value, files) for name, value in variables.items() if value}
    return BuildFlags(placed, files, _options(kernel))


def _placed(value: str, files: tuple[Path, ...]) -> str:
    """A value with `{folder}` in place of the folders that its files lie in."""
    for file in files:
        value = value.replace(f"{file.parent}/", "{folder}/")
    return value


def _programs(kernel: Kernel) -> dict[str, str]:
    """The compiler's and the linker's variables, by names that other hosts have, too."""
    compiler, linker = (kernel.provenance["variant"][name] for name in ("compiler", "linker"))
    told = dict(find_toolchain(compiler).make_variables)
    kept = {name: told[name] for name in ("LLVM",) if name in told}
    return kept | {"CC": Path(compiler).name, "LD": Path(linker).name}


def _options(kernel: Kernel) -> dict[str, str]:
    """The config symbols of the steps of profile-guided building, as the kernel has them."""
    kinds = [find_step_kind(step["kind"]) for step in kernel.provenance["variant"]["steps"]]
    wanted = {symbol for kind in kinds for symbol in kind.symbols}
    wanted |= {symbol for kind in kinds for symbol, _ in kind.options}
    had = dict(kernel.provenance["variant"].get("options", ()))
    absent = kernel.provenance.get("backported", ())
    return {name: had[name] for name in sorted(wanted & had.keys()) if name not in absent}


def make_variables(kernel: Kernel) -> dict[str, str]:
    """All that make was told when the kernel was built."""
    words = (word.partition("=") for word in kernel.provenance["command"] if "=" in word)
    return {name: value for name, _, value in words if name.isidentifier() and name != "O"}


def profile_files(kernel: Kernel) -> tuple[Path, ...]:
    """The profiles that the kernel was built with, as far as they are still there."""
    return tuple(dict.fromkeys(_profile_files(make_variables(kernel))))


def _refuse_gone(variables: dict[str, str], files: tuple[Path, ...]) -> None:
    prefix = Path(variables.get(_PREFIX, "/"))
    gone = [path for path in _named_files(variables) if path not in files]
    if _PREFIX in variables and not any(
        file.parent == prefix.parent and file.name.startswith(prefix.name) for file in files
    ):
        gone.append(Path(f"{prefix}_cc_profile.txt"))
    if gone:
        raise UserError(
            f"the profile {gone[0]}, which the kernel was built with, is no longer there: build "
            "the kernel again, or put it back"
        )


def _profile_files(variables: dict[str, str]) -> Iterator[Path]:
    for path in _named_files(variables):
        if path.is_file():
            yield path
    if prefix := variables.get(_PREFIX):
        begin = Path(prefix)
        yield from sorted(begin.parent.glob(f"{begin.name}*_profile.txt"))


def _named_files(variables: dict[str, str]) -> Iterator[Path]:
    """Profiles by their names, whether they are there or not."""
    for name, value in variables.items():
        if name == _PREFIX or (name.startswith(_OWN) and name != "KERNSMITH_PROFILE"):
            continue
        # A variable that is a path may have blanks in it.
        for word in [value] if value.startswith("/") else value.replace("=", " ").split():
            path = Path(word)
            if path.is_absolute() and path.suffix in _SUFFIXES:
                yield path
