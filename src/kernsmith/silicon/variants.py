# SPDX-License-Identifier: GPL-2.0-or-later
"""Variants of a study as builds of a program that is a kernel, and what such a program cannot have.

The machine `uml` is for the compiler, its flags, profiles and sources. What kbuild's own link, its
config or a boot would be needed for is refused, each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from kernsmith.kernel.config import LTO_SYMBOLS
from kernsmith.kernel.toolchain import CLANG, find_compiler
from kernsmith.silicon.builds import Build, Profile
from kernsmith.study.factors.optimisation import PERFORMANCE, SIZE
from kernsmith.study.steps import find_step_kind, step_symbols
from kernsmith.study.steps.kind import HOT
from kernsmith.study.study import UML
from kernsmith.study.variant import Variant

_STACKS = ("", "autofdo", "autofdo+propeller")
_LINKS = "kernsmith links the objects of such a program itself, without kbuild"
# Options that say nothing else than what variants without them have.
_AS_IT_IS = frozenset({("LTO_NONE", "y")})
_STEPS = {
    "instrumented": "a kernel has no run-time library that writes counters",
    "layout": "its order is found with traces of a kernel that boots",
    "bolt": "BOLT rewrites kernels that boot",
}


def build_of(variant: Variant) -> Build:
    """The build that a variant is: its optimisation level and flags as flags, its steps.

    The level is told as the silicon bench tells it: what the one has compiled, the other takes.
    """
    compiler = find_compiler(variant.compiler)
    flags = list(variant.flags)
    level = "-Os" if dict(variant.options).get(SIZE) == "y" else "-O2"
    if "-O3" in flags:
        flags.remove("-O3")
        level = "-O3"
    profile = cast(Profile, _stack(variant))
    return Build(variant.name, compiler.family, (level, *flags), profile, own=True)


def refusal(variant: Variant) -> str | None:
    """Why a variant cannot be built as a program, in a sentence; None if it can."""
    return next((reason for check in _CHECKS if (reason := check(variant))), None)


def _stack(variant: Variant) -> str:
    return "+".join(step.kind for step in variant.steps)


def _config(variant: Variant) -> str | None:
    if variant.config == UML:
        return None
    return (
        f"config {variant.config!r}: {UML} has a config of its own (guest/programs/uml), that of "
        f"ARCH=um: leave config out, or write {UML!r}"
    )


def _lto(variant: Variant) -> str | None:
    options = dict(variant.options)
    chosen = next((symbol for symbol in LTO_SYMBOLS if options.get(symbol) == "y"), None)
    return f"CONFIG_{chosen}: {_LINKS}, and has no link-time optimisation" if chosen else None


def _options(variant: Variant) -> str | None:
    known = {SIZE, PERFORMANCE, *step_symbols(), *(s for s, _ in _AS_IT_IS)}
    symbol = next((symbol for symbol, _ in variant.options if symbol not in known), None)
    if symbol is None:
        return None
    return (
        f"CONFIG_{symbol}: {UML} has a config of its own, that of ARCH=um with what its load needs "
        "(guest/programs/uml), which no study changes"
    )


def _steps(variant: Variant) -> str | None:
    stack = _stack(variant)
    if stack in _STACKS:
        for step in variant.steps:
            if step.files:
                return f"profile={stack}: {UML} trains on its own load, and takes no other profile"
            if step.period or step.hot != HOT or step.unseen_is_cold:
                return (
                    f"profile={stack}: {UML} trains on every branch of its load, by the usual "
                    "shares: it has no factors period, hot and unseen"
                )
        return None
    words = [step.kind for step in variant.steps]
    reason = next((_STEPS[word] for word in words if word in _STEPS), "")
    if not reason and any(find_step_kind(word).options for word in words):
        reason = f"{_LINKS}, and has no link-time optimisation"
    allowed = ", ".join(("none", *_STACKS[1:]))
    return f"profile={stack}: {f'{reason}; ' if reason else ''}{UML} has {allowed}"


def _compiler(variant: Variant) -> str | None:
    compiler = find_compiler(variant.compiler)
    if variant.steps and compiler.family != CLANG:
        return f"profile={_stack(variant)} needs clang, and the compiler is {compiler.name}"
    said = compiler.refuses(variant.flags) if variant.flags else ""
    return f"{compiler.name} does not take {' '.join(variant.flags)}: {said}" if said else None


def _linker(variant: Variant) -> str | None:
    if not variant.linker:
        return None
    return f"linker {variant.linker}: all layouts of {UML} are linked by the newest lld"


def _modules(variant: Variant) -> str | None:
    if not variant.modules:
        return None
    return f"modules {', '.join(variant.modules)}: {UML} is one static program and loads none"


def _objects(variant: Variant) -> str | None:
    if not variant.objects:
        return None
    return f"objects {', '.join(variant.objects[0].match)}: {UML} compiles all objects alike"


def _layout(variant: Variant) -> str | None:
    layout = variant.layout
    if not layout.named and not layout.jitter:
        return None
    return f"layout {layout.named}: {UML} has its default layout and random ones"


_CHECKS: tuple[Callable[[Variant], str | None], ...] = (
    _config, _steps, _lto, _options, _compiler, _linker, _modules, _objects, _layout,
)  # fmt: skip
