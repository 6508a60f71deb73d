# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be built, known before anything is built, and why.

Each constraint looks at one candidate and returns a reason or nothing. Compilers and sources are
asked for what they can do; nothing is decided by a table of versions that they do not have
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith import process
from kernsmith.arch import DEFAULT, find_arch
from kernsmith.errors import ProgramMissing, UserError
from kernsmith.kernel import bolt
from kernsmith.kernel.backports import backported_symbols, backports, not_carried
from kernsmith.kernel.config import LTO_SYMBOLS, absent_symbols, no_symbols
from kernsmith.kernel.config_source import read_config
from kernsmith.kernel.link_rules import other_linker
from kernsmith.kernel.object_rules import other_compilers, parting_flag
from kernsmith.kernel.script_patch import script_patch
from kernsmith.kernel.sections import SCRIPT, gathers_functions, needed_options
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import (
    BFD,
    CLANG,
    GCC,
    LLD,
    RUST_REMEDY,
    Toolchain,
    find_rust,
    find_toolchain,
)
from kernsmith.study.steps import find_step_kind, step_kinds
from kernsmith.study.variant import Variant


@dataclass(frozen=True)
class _Candidate:
    """A variant with its words resolved. layouts: whether it is to be linked in random layouts."""

    variant: Variant
    toolchain: Toolchain
    source: Source
    options: Mapping[str, str]
    layouts: bool

    @property
    def has_rust(self) -> bool:
        """Whether code in Rust is asked for."""
        return self.options.get("RUST") == "y"


_MINIMUM_SCRIPT = "scripts/min-tool-version.sh"


def refusal(
    variant: Variant, source: Source, *, layouts: bool, look_only: bool = False
) -> str | None:
    """Why a variant cannot be built from a source, or None.

    layouts: whether its functions are to be ordered when linking.
    look_only: run nothing that belongs to the source (see `not_checked`). Compilers are asked even
        so whether they take a study's flags: these are of harmless families, the file is empty.

    Raises:
        UserError: a config, compiler or linker that is not there at all.
    """
    options = read_config(variant.config, source).symbols_in(source.path) | dict(variant.options)
    toolchain = find_toolchain(variant.compiler, variant.linker, variant.arch)
    candidate = _Candidate(variant, toolchain, source, options, layouts)
    checks = [check for check in _CONSTRAINTS if not (look_only and check is _new_enough)]
    return next((reason for check in checks if (reason := check(candidate))), None)


def not_checked(source: Source) -> str | None:
    """What `refusal` leaves open when it only looks, in a sentence; None where there is nothing."""
    if not (source.path / _MINIMUM_SCRIPT).exists():
        return None
    return (
        f"whether compilers and linkers are new enough for {source.name}: its own "
        f"{_MINIMUM_SCRIPT} would tell, and nothing of it is run"
    )


def _new_enough(candidate: _Candidate) -> str | None:
    compiler, linker = candidate.toolchain.compiler, candidate.toolchain.linker
    rust = find_rust(compiler).tools if candidate.has_rust else {}
    for tool, (name, release) in (
        ("llvm" if compiler.family == CLANG else "gcc", (compiler.name, compiler.release)),
        ("llvm" if linker.family == LLD else "binutils", (linker.program, linker.release)),
        *rust.items(),
    ):
        least = _oldest(candidate.source.path, tool, candidate.variant.arch)
        if release < least:
            wanted, got = (".".join(map(str, numbers)) for numbers in (least, release))
            return (
                f"{candidate.source.name} needs {tool} {wanted} or newer (its "
                f"scripts/min-tool-version.sh says so), and {Path(name).name} is {got}"
                + (f"; get a newer one with: {RUST_REMEDY}" if tool in rust else "")
            )
    return None


@cache
def _oldest(tree: Path, tool: str, arch: str) -> tuple[int, ...]:
    """The oldest version of a tool that a source is built with; empty if it does not say."""
    script = tree / _MINIMUM_SCRIPT
    if not script.exists():
        return ()
    answer = process.run(
        ["sh", script, tool], timeout=30, env=find_arch(arch).environment, check=False
    )
    numbers = answer.output.strip().split(".")
    known = answer.returncode == 0 and all(number.isdigit() for number in numbers)
    return tuple(map(int, numbers)) if known else ()


def _rust(candidate: _Candidate) -> str | None:
    """Without rustc or bindgen Kconfig drops CONFIG_RUST and says nothing."""
    if not candidate.has_rust:
        return None
    try:
        find_rust(candidate.toolchain.compiler)
    except UserError as error:
        return str(error)
    return None


def _symbols_exist(candidate: _Candidate) -> str | None:
    asked = [symbol for symbol, value in candidate.variant.options if value != "n"]
    absent = [
        symbol
        for symbol in absent_symbols(asked, candidate.source.path)
        if symbol not in backports()
    ]
    return no_symbols(absent) if absent else None


def _steps_exist(candidate: _Candidate) -> str | None:
    source = candidate.source
    kinds = (find_step_kind(step.kind) for step in candidate.variant.steps)
    reasons = (not_carried(kind, source.path, source.name) for kind in kinds)
    return next((reason for reason in reasons if reason), None)


def _sections(candidate: _Candidate) -> str | None:
    """Flags that stand in for a symbol give functions sections that the linker must place."""
    source, options = candidate.source, candidate.options
    missing = backported_symbols(options, source.path) if candidate.variant.steps else ()
    if not missing or _gathers(candidate):
        return None
    return (
        f"{source.name} has no CONFIG_{missing[0]}, and its {SCRIPT} is not one that kernsmith "
        "can make gather functions"
    )


def _backports(candidate: _Candidate) -> str | None:
    """Flags that stand in for a symbol may need a newer compiler than its Makefile does."""
    compiler, source = candidate.toolchain.compiler, candidate.source
    kinds = [find_step_kind(step.kind) for step in candidate.variant.steps]
    for symbol in backported_symbols(candidate.options, source.path) if kinds else ():
        oldest = backports()[symbol].oldest_clang
        if compiler.family == CLANG and compiler.version < oldest:
            return (
                f"{source.name} has no CONFIG_{symbol}, and what stands in for it needs clang "
                f"{oldest} or newer: {compiler.name} is too old"
            )
    return None


def _gathers(candidate: _Candidate) -> bool:
    """Whether functions may have sections of their own, by themselves or with a patch."""
    tree, options = candidate.source.path, candidate.options
    return gathers_functions(tree, options) or script_patch(tree, options) is not None


def _lto(candidate: _Candidate) -> str | None:
    chosen = next((s for s in LTO_SYMBOLS if candidate.options.get(s) == "y"), None)
    if chosen is None:
        return None
    compiler, linker = candidate.toolchain.compiler, candidate.toolchain.linker
    if compiler.family != CLANG:
        return f"CONFIG_{chosen} needs clang; the kernel has no LTO by {compiler.name}"
    if linker.family != LLD:
        return f"CONFIG_{chosen} needs lld: {linker.program} does not read clang's bitcode"
    if linker.release[:1] < compiler.release[:1]:
        return (
            f"CONFIG_{chosen} needs a linker that is as new as the compiler: {linker.program} "
            f"may not read the bitcode of {compiler.name}"
        )
    return None


def _steps(candidate: _Candidate) -> str | None:
    compiler = candidate.toolchain.compiler
    for kind in step_kinds().values():
        for symbol in kind.symbols:
            if candidate.options.get(symbol) == "y" and compiler.family != CLANG:
                return f"CONFIG_{symbol} needs clang, and the compiler is {compiler.name}"
    configured = read_config(candidate.variant.config, candidate.source).symbols
    for kind in (find_step_kind(step.kind) for step in candidate.variant.steps):
        if chosen := next((s for s in LTO_SYMBOLS if kind.options and configured.get(s) == "y"), 0):
            return (
                f"the config {candidate.variant.config} has CONFIG_{chosen}: the step {kind.name} "
                "is for configs without LTO"
            )
        oldest = kind.oldest_clang if compiler.family == CLANG else kind.oldest_gcc
        if compiler.family != CLANG and kind.oldest_clang and not oldest:
            return f"profile={kind.name} needs clang: {compiler.name} cannot read it"
        if compiler.version < oldest:
            return (
                f"profile={kind.name} needs {compiler.family} {oldest} or newer: "
                f"{compiler.name} is too old"
            )
        linker = candidate.toolchain.linker
        if kind.symbol_order is not None and linker.family != LLD:
            return (
                f"profile={kind.name} needs lld: {linker.program} cannot put functions in an order"
            )
        if kind.rewrites:
            try:
                candidate.toolchain.tool(bolt.PROGRAM)
            except ProgramMissing as error:
                return f"profile={kind.name} needs {bolt.PROGRAM}: {error}"
    return None


def _modules(candidate: _Candidate) -> str | None:
    variant = candidate.variant
    config = read_config(variant.config, candidate.source)
    loaded = config.modules if variant.modules is None else variant.modules
    kinds = (find_step_kind(step.kind) for step in variant.steps)
    counting = next((kind.name for kind in kinds if kind.instrument), variant.trains)
    if not loaded or not counting:
        return None
    return (
        f"profile={counting} has counters in the kernel itself, and modules ({', '.join(loaded)}) "
        "cannot reach them: take autofdo, or modules = none"
    )


def _flags(candidate: _Candidate) -> str | None:
    compiler, flags = candidate.toolchain.compiler, candidate.variant.flags
    said = compiler.refuses(flags) if flags else ""
    if not said:
        return None
    one = next((flag for flag in flags if compiler.refuses((flag,))), " ".join(flags))
    return f"{compiler.name} does not take {one}: {said}"


def _objects(candidate: _Candidate) -> str | None:
    """Other ways of compiling some objects must give objects that fit the others."""
    compiler, arch = candidate.toolchain.compiler, candidate.variant.arch
    lto = next((s for s in LTO_SYMBOLS if candidate.options.get(s) == "y"), None)
    for rule in candidate.variant.objects:
        of_these = f"objects {', '.join(rule.match)}"
        if rule.steps and lto:
            return f"{of_these}: with CONFIG_{lto} they are bitcode, and have no assembly for steps"
        if rule.steps and arch != DEFAULT:
            return f"{of_these}: the shipped steps know the assembly of {DEFAULT} only"
        others = other_compilers(rule, arch)
        if others and lto:
            return f"{of_these}: with CONFIG_{lto} one compiler must write all bitcode"
        strange = [other.name for other in others if other.family != compiler.family]
        if strange and arch != DEFAULT:
            return (
                f"{of_these}: kbuild's words for {compiler.name} are said to {strange[0]} for "
                f"{DEFAULT} only: take another {compiler.family}"
            )
        if reason := parting_flag(rule):
            return f"{of_these}: {reason}"
        if others and others[0].family not in (CLANG, GCC):
            continue
        taking = find_toolchain(others[0].name, "", arch).compiler if others else compiler
        if said := taking.refuses(rule.flags) if rule.flags else "":
            return f"{of_these}: {taking.name} does not take {rule.flags}: {said}"
    return None


def _links(candidate: _Candidate) -> str | None:
    """With link-time optimisation the linker makes the code, and one linker all of it."""
    lto = next((s for s in LTO_SYMBOLS if candidate.options.get(s) == "y"), None)
    for rule in candidate.variant.links:
        other_linker(rule)
        if lto:
            of_these = f"links {', '.join(rule.match)}"
            return f"{of_these}: with CONFIG_{lto} vmlinux is linked from one object of all"
    return None


def _layouts(candidate: _Candidate) -> str | None:
    kinds = (find_step_kind(step.kind) for step in candidate.variant.steps)
    if not candidate.layouts and not any(kind.relinks for kind in kinds):
        return None
    linker = candidate.toolchain.linker
    if not linker.orders_functions:
        also = " (linker = bfd)" if linker.family == BFD else ""
        return (
            f"{linker.program}{also} cannot order functions by their names, so there "
            "are no random layouts: take lld, or layouts = 0"
        )
    if _gathers(candidate):
        return None
    tree = candidate.source.path
    needed = needed_options(tree)
    hint = f"set one of {', '.join(f'CONFIG_{n}' for n in needed)}, or " if needed else "take "
    return (
        f"{SCRIPT} of {candidate.source.name} does not gather functions that have sections of "
        f"their own, so there are no random layouts: {hint}layouts = 0"
    )


_CONSTRAINTS: tuple[Callable[[_Candidate], str | None], ...] = (
    _rust,
    _new_enough,
    _steps_exist,
    _symbols_exist,
    _sections,
    _backports,
    _steps,
    _lto,
    _modules,
    _flags,
    _objects,
    _links,
    _layouts,
)
