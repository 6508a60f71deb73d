# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of the choices: what Kconfig and the Makefile of a kernel tree get."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from kernsmith.kernel.cpu.catalogue import Cpu, Level, Release, Target, read_catalogue

PREFIX = "X86_MARCH"
NATIVE = f"{PREFIX}_NATIVE"

# Trees that do not tell rustc's LLVM are of a time when that was 14 or newer.
_RUST_OLDEST: Release = (14, 0)

_CHOICE_HELP = (
    "What the compiler may assume of the processor (-march=), and what it orders the instructions "
    "for (-mtune=). The kernel uses vector and floating-point registers in a few places of its own "
    "only, so that only the other new instructions matter (MOVBE, BMI, LZCNT, POPCNT): expect "
    "changes of a percent, not more.",
    "A kernel that was compiled for a processor does not run on one that lacks some of its "
    "instructions.",
    "If unsure, leave it at the kernel's own.",
)
_DEFAULT_HELP = "Leave the compiler's options as the kernel sets them."

# LLVM 18 fails at networking code with `native`, and needs more stack elsewhere: the kernel's own
# X86_NATIVE_CPU says so.
_NATIVE_COMPILERS = "CC_IS_GCC || (CC_IS_CLANG && CLANG_VERSION >= 190100)"

_LEVEL_HELP = {
    2: "Every processor since Nehalem (2008), Bulldozer (2011) and Silvermont (2013).",
    3: "Every processor since Haswell (2013), Excavator (2015), Zen (2017) and Gracemont (2021), "
    "but some Pentium and Celeron.",
    4: "Server processors of Intel since Skylake, and all of AMD since Zen 4. It adds only vector "
    "instructions, which the kernel does not let the compiler use: the code is that of x86-64-v3, "
    "but runs on fewer processors.",
}

_MAKEFILE_LINES = """\
        # The processor chosen in Kconfig: the last one of several -march= counts. The levels are
        # sets of instructions, nothing to tune for.
        x86-march := $(patsubst "%",%,$(CONFIG_{prefix}))
ifneq ($(x86-march),)
        KBUILD_CFLAGS += -march=$(x86-march) -mtune=$(patsubst x86-64%,generic,$(x86-march))
        # The kernel does not save the registers that APX adds.
        KBUILD_CFLAGS += $(call cc-option,-mno-apxf)
endif
"""

_RUST_LINES = """\
        x86-march-rust := $(patsubst "%",%,$(CONFIG_{prefix}_RUST))
ifneq ($(x86-march-rust),)
        KBUILD_RUSTFLAGS += -Ctarget-cpu=$(x86-march-rust)
        KBUILD_RUSTFLAGS += -Ztune-cpu=$(patsubst x86-64%,generic,$(x86-march-rust))
endif
"""


@dataclass(frozen=True)
class Surroundings:
    """What of a tree's own the choices stand beside.

    generic: its family of processors has a generic one (GENERIC_CPU), below which the choices are.
    native: it can compile for the compiling machine (X86_NATIVE_CPU).
    rust: it has Rust code. rust_llvm: Kconfig knows rustc's LLVM (RUSTC_LLVM_VERSION).
    """

    generic: bool
    native: bool
    rust: bool
    rust_llvm: bool


@dataclass(frozen=True)
class Option:
    """One choice. symbol: its config symbol without `CONFIG_`; depends: on which compilers."""

    symbol: str
    march: str
    title: str
    depends: str


def symbol_of(march: str) -> str:
    """The config symbol of a word: `x86-64-v3` → `X86_MARCH_X86_64_V3`."""
    return f"{PREFIX}_{re.sub('[^A-Z0-9]', '_', march.upper())}"


def options(around: Surroundings) -> tuple[Option, ...]:
    """All that can be chosen in such a tree: levels, then this machine, then processors."""
    levels = tuple(_option(target) for target in _targets() if isinstance(target, Level))
    cpus = tuple(_option(target) for target in _targets() if isinstance(target, Cpu))
    native = Option(NATIVE, "native", "The machine that compiles (native)", _NATIVE_COMPILERS)
    return (*levels, *(() if around.native else (native,)), *cpus)


def _targets() -> Iterator[Level | Cpu]:
    """Every word that some compiler takes, but the kernel's own x86-64."""
    catalogue = read_catalogue()
    yield from (level for level in catalogue.levels if level.level > 1)
    yield from catalogue.cpus()


def _option(target: Level | Cpu) -> Option:
    title = target.march
    if isinstance(target, Cpu):
        maker = next(group.maker for group in read_catalogue().groups if target in group.cpus)
        title = f"{maker} {target.name} ({target.march})"
    return Option(symbol_of(target.march), target.march, title, _depends(target))


def _depends(target: Target) -> str:
    """The compilers that take a word, in Kconfig's language."""
    parts = []
    for family in ("gcc", "clang"):
        version = f"{family.upper()}_VERSION"
        *older, newest = target.releases(family) or (None,)
        if newest is None:
            continue
        alternatives = [f"{version} >= {_number(newest)}"]
        alternatives += [
            f"({version} >= {_number(first)} && {version} < {_number((first[0] + 1, 0))})"
            for first in older
            if first is not None
        ]
        condition = " || ".join(alternatives)
        if len(alternatives) > 1:
            condition = f"({condition})"
        if until := target.until(family):
            condition += f" && {version} < {_number(until)}"
        parts.append(f"(CC_IS_{family.upper()} && {condition})")
    return " || ".join(parts)


def _number(release: Release) -> str:
    """As Kconfig has it in GCC_VERSION and CLANG_VERSION: 13.1 → 130100."""
    return str(release[0] * 10000 + release[1] * 100)


def kconfig_block(around: Surroundings) -> str:
    """The choice, and the symbols that the Makefile reads."""
    depends = ["X86_64", "!UML"]
    if around.generic:
        depends.append("GENERIC_CPU")
    if around.native:
        depends.append("!X86_NATIVE_CPU")
    helps = {symbol_of(target.march): _help(target) for target in _targets()} | {
        NATIVE: "Compile for the processor of the machine that compiles the kernel."
    }
    parts = ["choice\n", '\tprompt "Processor to compile for"\n']
    parts += [f"\tdepends on {' && '.join(depends)}\n", f"\tdefault {PREFIX}_DEFAULT\n"]
    parts += [_help_text(*_CHOICE_HELP), f"\nconfig {PREFIX}_DEFAULT\n"]
    parts += ['\tbool "The kernel\'s own (any x86-64)"\n', _help_text(_DEFAULT_HELP), "\n"]
    parts += [_kconfig_option(option, helps[option.symbol]) for option in options(around)]
    parts += ["endchoice\n\n", _march_string(around), "\n"]
    if around.rust:
        parts += [_rust_string(around), "\n"]
    return "".join(parts)


def _kconfig_option(option: Option, help: str) -> str:
    return (
        f'config {option.symbol}\n\tbool "{option.title}"\n\tdepends on {option.depends}\n'
        f"{_help_text(help)}\n"
    )


def _help_text(*paragraphs: str) -> str:
    indent = "\t  "
    filled = [
        textwrap.fill(text, 70, initial_indent=indent, subsequent_indent=indent)
        for text in paragraphs
    ]
    return "\thelp\n" + "\n\n".join(filled) + "\n"


def _help(target: Level | Cpu) -> str:
    if isinstance(target, Level):
        return f"{target.adds}. {_LEVEL_HELP[target.level]}"
    family = f" CPU family {target.family}." if target.family else ""
    level = f"-v{target.level}" if target.level > 1 else ""
    return f"{target.products}.{family} Reaches x86-64{level}."


def _march_string(around: Surroundings) -> str:
    lines = [f"config {PREFIX}", "\tstring", "\tdepends on X86_64"]
    lines += [f'\tdefault "{option.march}" if {option.symbol}' for option in options(around)]
    return "\n".join(lines) + "\n"


def _rust_string(around: Surroundings) -> str:
    """What rustc is told. It has clang's words, but for APX, which its target cannot switch off."""
    lines = [f"config {PREFIX}_RUST", "\tstring", "\tdepends on X86_64"]
    for target in _targets():
        if not target.clang or (isinstance(target, Cpu) and target.apx):
            continue
        line = f'\tdefault "{target.march}" if {symbol_of(target.march)}'
        if around.rust_llvm:
            lines.append(f"{line} && RUSTC_LLVM_VERSION >= {_number(target.clang[-1])}")
        elif target.clang[-1] <= _RUST_OLDEST:
            lines.append(line)
    return "\n".join(lines) + "\n"


def makefile_block(around: Surroundings) -> str:
    """What makes compilers' options of the choice."""
    return (_MAKEFILE_LINES + (_RUST_LINES if around.rust else "") + "\n").format(prefix=PREFIX)
