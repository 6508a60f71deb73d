# SPDX-License-Identifier: GPL-2.0-or-later
"""What may not be mixed: why objects of two kernels must not be linked into one.

Objects of one kernel agree on the sizes and offsets of structures, on who calls whom with which
registers, and on what a linker may still do to them. All of that follows from the source, the
config and the compiler's flags. What a flag changes inside of an object is nobody else's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kernsmith.errors import UserError
from kernsmith.kernel.artifact import FOLDER_LETTERS, Kernel
from kernsmith.kernel.config import DEBUG_INFO_SYMBOLS, parse_config
from kernsmith.study.steps import step_symbols

_SHOWN = 5

# Config symbols that say what the programs of a build can do, or how code is optimised; what else
# depends on them is looked at by itself.
_OF_TOOLS = re.compile(
    r"(CC|GCC|CLANG|AS|LD|LLD|RUSTC|RUST|BINDGEN|PAHOLE|TOOLS)_\w+|DEBUG_INFO(_(?!BTF)\w+)?"
    r"|HAVE_\w*|ARCH_(HAS|HAVE|SUPPORTS|USE|WANTS?)_\w+|INIT_STACK_\w+|AUTOFDO_CLANG|PROPELLER_CLANG"
)

# Where one of these is set, the link takes one object that was made of all (link-vmlinux.sh).
_WHOLE = {
    "LTO_CLANG": "link-time optimisation: its objects are bitcode, of which the linker makes code "
    "as a whole",
    "X86_KERNEL_IBT": "CONFIG_X86_KERNEL_IBT: it is linked from one object that objtool has gone "
    "over as a whole",
    "KLP_BUILD": "CONFIG_KLP_BUILD: it is linked from one object that objtool has gone over as a "
    "whole",
}

# Flags that objects must agree on, and what they would disagree on.
_AGREED = {
    r"-fpack-struct(=.*)?|-f(no-)?short-(enums|wchar)|-m(no-)?ms-bitfields|-malign-double|"
    r"-f(no-)?(signed|unsigned)-(char|bitfields)|-mlong-double-\d+":
        "types would differ in size or sign",
    r"-m(no-)?(rtd|regparm.*|sseregparm|red-zone|stackrealign)|-mabi=.*|-m(16|32|x32|64)|"
    r"-mpreferred-stack-boundary=.*|-f(no-)?(pcc|reg)-struct-return|-f(fixed|call-used|call-saved)-.*":
        "functions would be called in two ways",
    r"-mcmodel=.*|-f(no-)?(pic|PIC|pie|PIE|plt|direct-access-external-data)":
        "addresses would be computed in two ways",
    r"-f(no-)?sanitize.*|-f(no-)?cf-protection.*|-mfunction-return=.*|-mindirect-branch.*":
        "checks in one object need what another one provides",
    r"-fpatchable-function-entry=.*|-pg|-mfentry|-m(no-)?record-mcount|-mnop-mcount":
        "the kernel patches all entries of functions alike",
    r"-[DU].*": "a macro may change structures",
    r"-f(no-)?lto.*": "objects would be bitcode",
}  # fmt: skip


def refuse_mix(good: Kernel, bad: Kernel) -> None:
    """That objects of two kernels may be linked into one.

    Raises:
        UserError: they may not; one sentence with the reason.
    """
    checks: tuple[Callable[[Kernel, Kernel], str], ...] = (
        _sources, _made_behind_the_link, _counters, _whole_links, _configs, _flags,
    )  # fmt: skip
    for check in checks:
        if reason := check(good, bad):
            names = " and ".join(
                repr(kernel.provenance["variant"]["name"]) for kernel in (good, bad)
            )
            raise UserError(f"objects of {names} cannot be mixed: {reason}")


def _sources(good: Kernel, bad: Kernel) -> str:
    one, other = (kernel.provenance["source"]["digest"] for kernel in (good, bad))
    if one != other:
        return "they are of two sources; kernsmith bisect looks for commits"
    if good.arch.name != bad.arch.name:
        return f"they are for {good.arch.name} and {bad.arch.name}"
    return ""


def _made_behind_the_link(good: Kernel, bad: Kernel) -> str:
    for kernel in (good, bad):
        for word, how in (("bolted", "rewritten by BOLT"), ("reordered", "put in another order")):
            if word in kernel.provenance:
                below = kernel.provenance[word]["kernel"][:FOLDER_LETTERS]
                name = kernel.provenance["variant"]["name"]
                return f"{name!r} was {how} behind its link: take the kernel below it, {below}"
    return ""


def _counters(good: Kernel, bad: Kernel) -> str:
    if any(kernel.provenance["variant"].get("trains") for kernel in (good, bad)):
        return "one has counters, which its link puts together"
    return ""


def _whole_links(good: Kernel, bad: Kernel) -> str:
    for kernel in (good, bad):
        symbols = _symbols(kernel)
        for symbol, reason in _WHOLE.items():
            if symbols.get(symbol) == "y":
                return f"{kernel.provenance['variant']['name']!r} has {reason}"
    return ""


def _configs(good: Kernel, bad: Kernel) -> str:
    one, other = _symbols(good), _symbols(bad)
    changed = [
        symbol
        for symbol in sorted(one.keys() | other.keys())
        if one.get(symbol, "n") != other.get(symbol, "n") and not may_differ(symbol)
    ]
    if not changed:
        return ""
    more = ", …" if len(changed) > _SHOWN else ""
    shown = ", ".join(f"CONFIG_{symbol}" for symbol in changed[:_SHOWN])
    return f"they differ in {shown}{more}: code of one config does not fit the other's structures"


def may_differ(symbol: str) -> bool:
    """Whether objects fit each other although they were compiled with two values of a symbol."""
    known = symbol in step_symbols() or symbol in DEBUG_INFO_SYMBOLS
    return known or _OF_TOOLS.fullmatch(symbol) is not None


def _flags(good: Kernel, bad: Kernel) -> str:
    one, other = (kernel.provenance["variant"]["flags"] for kernel in (good, bad))
    for flag in dict.fromkeys(
        flag for flag in [*one, *other] if one.count(flag) != other.count(flag)
    ):
        if reason := disagreement(flag):
            return f"only one is compiled with {flag}: {reason}"
    return ""


def disagreement(flag: str) -> str:
    """What objects would disagree on if only some had a flag; empty: nothing."""
    found = (why for pattern, why in _AGREED.items() if re.fullmatch(pattern, flag))
    return next(found, "")


def _symbols(kernel: Kernel) -> Mapping[str, str]:
    return parse_config((kernel.folder / "config").read_text(encoding="utf-8"))
