# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops of branches and indirect jumps by chance, or by what comes again: what predictors know."""

import random

from probes.fetched import visited
from probes.probe import Probe

XORSHIFT = "".join(
    f"mov %rax, %rcx\n {shift}, %rcx\n xor %rcx, %rax\n"
    for shift in ("shl $13", "shr $7", "shl $17")
)


BY_CHANCE = ("mov pattern, %rax", ".quad 88172645463325252")
"""Before and behind a loop that draws numbers, each from the one before."""


def chances(branch: str, what: str) -> Probe:
    """Sixteen numbers, each drawn from the one before; no predictor sees the same ones again."""
    body = f".rept 16\n {XORSHIFT} test $4, %al\n {branch}\n.endr\n mov %rax, pattern"
    return Probe(what, 16, body, *BY_CHANCE)


def between_chances(lines: int) -> Probe:
    """Lines, and before each a branch by chance, whose both ways lead to it."""
    between = f"{XORSHIFT} test $4, %al\n jz 7f\n nop\n7:"
    first, data = BY_CHANCE
    return visited(lines, between, what="a branch by chance", first=first, data=data)


BRANCH = """\
	test $4, %al
	jz 7f
	.balign 32
7:
"""
INDIRECT = """\
	mov %eax, %ecx
	shr $2, %ecx
	and $1, %ecx
	lea .Lways{n}(%rip), %rdx
	jmp *(%rdx,%rcx,8)
	.balign 64
.Lone{n}: jmp .Lboth{n}
	.balign 64
.Lother{n}: jmp .Lboth{n}
	.balign 64
.Lboth{n}:
	.pushsection .data
.Lways{n}: .quad .Lone{n}, .Lother{n}
	.popsection
"""
KINDS = {"a branch": BRANCH, "an indirect jump": INDIRECT}


def chosen(first: str, jumps: int, then: str = "") -> Probe:
    """A number by chance; a branch or an indirect jump by it, which nobody can know; so many jumps;
    then, where that is asked, another one by the same number: whether the history has it."""
    between = "jmp 7f\n .balign 32\n7:\n" * jumps
    asked = KINDS[then] if then else ""
    each = "\n".join((XORSHIFT, KINDS[first], between, asked.replace("{n}", "{n}b")))
    body = "\n".join((*(each.replace("{n}", str(n)) for n in range(4)), "mov %rax, pattern"))
    behind = f", {jumps} jumps" if jumps else ""
    known = f", {then} by the same number" if then else ""
    what = f"{first} by chance{behind}{known}"
    return Probe(what, 4, body, *BY_CHANCE)


def remembered(branches: int) -> Probe:
    """A branch by chance, so many that are never taken, and one by the same number."""
    between = "test %rdi, %rdi\n jz 2f\n" * branches
    body = "\n".join((XORSHIFT, BRANCH, between, BRANCH, "mov %rax, pattern"))
    what = f"a branch by chance, {branches} others, a branch by the same number"
    return Probe(what, 1, body, *BY_CHANCE)


NEXT = """\
	add ${step}, %rsi
	cmp ${end}, %rsi
	cmove %rdx, %rsi
"""
FROM_THE_FIRST = "mov $pattern, %rsi\n mov $pattern, %rdx"


def directions(branches: int, period: int) -> Probe:
    """Each branch goes its own way, which was drawn and comes again after so many times."""
    drawn = random.Random(period).choices((0, 1), k=branches * period)
    body = "\n".join(f"cmpb $0, {n}(%rsi)\n jz 7f\n nop\n7:" for n in range(branches))
    following = NEXT.format(step=branches, end=f"pattern + {len(drawn)}")
    what = f"directions of {branches:,}, again after {period:,}"
    data = f".byte {','.join(map(str, drawn))}"
    return Probe(what, branches, f"{body}\n{following}", FROM_THE_FIRST, data, period)


def targets(jumps: int, places: int, period: int) -> Probe:
    """Indirect jumps, each to its own places; the targets were drawn and come again."""
    drawn = random.Random(period).choices(range(places), k=period * jumps)
    ways = (f".balign 16\n.Lto{{0}}_{n}: jmp .Lbehind{{0}}" for n in range(places))
    jump = "\n".join(("jmp *8*{0}(%rsi)", *ways, ".Lbehind{0}:"))
    following = NEXT.format(step=8 * jumps, end=f"pattern + {8 * len(drawn)}")
    body = "\n".join((*(jump.format(n) for n in range(jumps)), following))
    data = ", ".join(f".Lto{n % jumps}_{place}" for n, place in enumerate(drawn))
    what = f"targets of {jumps:,}, {places:,} places each, again after {period:,}"
    return Probe(what, jumps, body, FROM_THE_FIRST, f".quad {data}", period)
