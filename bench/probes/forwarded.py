# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops of loads that need what was stored just before: no front end has a part in them, but what
they cost tells builds apart, since compilers copy what a program has put together in one piece.

A load of which one older store has all bytes gets them from there (A. Moshovos and G. S. Sohi,
*Streamlining Inter-operation Memory Communication via Data Dependence Prediction*, MICRO 1997); one
that needs several stores, or bytes that none has, waits until they are in the cache.
"""

from collections.abc import Iterator

from probes.probe import Probe

# Stores of %rax where %r9 says; loads from there, and what makes them a number again.
STORES = {
    "a store of 1": "mov %al, (%r9)",
    "a store of 4": "mov %eax, (%r9)",
    "a store of 8": "mov %rax, (%r9)",
    "two stores of 8": "mov %rax, (%r9)\n mov %rax, 8(%r9)",
    "a store of 16": "movq %rax, %xmm0\n movups %xmm0, (%r9)",
}
LOADS = {
    "4 bytes": "mov (%r9), %eax",
    "4 upper bytes": "mov 4(%r9), %eax",
    "8 bytes": "mov (%r9), %rax",
    "16 bytes": "movups (%r9), %xmm0\n movq %xmm0, %rax",
}
WAITED_FOR = (
    ("8 bytes", "a store of 8"),
    ("4 upper bytes", "a store of 8"),
    ("8 bytes", "a store of 16"),
    ("16 bytes", "a store of 16"),
    ("4 bytes", "a store of 1"),
    ("8 bytes", "a store of 4"),
    ("16 bytes", "two stores of 8"),
)
EACH = 8
NOPS = 200
FIRST = "lea pattern, %r9\n mov $3, %eax"
PLACE = ".skip 256"


def forwarded() -> Iterator[Probe]:
    """Loads whose number is stored next; then copies that nobody waits for, of what was stored just
    before, and of what was not."""
    for loaded, stored in WAITED_FOR:
        body = f"{STORES[stored]}\n {LOADS[loaded]}\n" * EACH
        yield Probe(f"{loaded} of {stored}, waited for", EACH, body, FIRST, PLACE)
    for name, place in (("16 bytes of two stores of 8", 0), ("16 bytes stored long ago", 128)):
        stores = f"mov %rax, {place}(%r9)\n mov %rax, {place + 8}(%r9)"
        copied = "movups (%r9), %xmm0\n movups %xmm0, 64(%r9)"
        body = f"{stores}\n {copied}\n .rept {NOPS}\n nop\n .endr"
        yield Probe(f"{name}, copied, {NOPS} nops", 1, body, FIRST, PLACE)
