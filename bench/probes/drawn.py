# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops that are drawn: branches at places and of kinds that chance tells.

Each does the same in every round, and nothing waits for data: no direction and no target is a
surprise. So what such a loop costs is what its places cost: in target buffers, caches of lines and
of micro-ops, and decoders.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from probes.probe import NOPS

Kind = Literal["conditional", "jump", "call", "return"]

REGION_BITS = 24
"""Of an address within a loop's region; all of a loop lies in one."""
BRANCH_BYTES: dict[Kind, int] = {"conditional": 6, "jump": 5, "call": 5, "return": 1}
UNTAKEN = b"\x74\x10"
"""je, behind nothing that makes it taken."""
CLOSING = b"\xff\xc9"
"""dec %ecx"""


@dataclass(frozen=True)
class Step:
    """Instructions one behind the other, of which the last one is a branch.

    target: where it leads when it is taken. body: the bytes in front of it, of instructions.
    """

    start: int
    body: tuple[bytes, ...]
    kind: Kind
    target: int
    taken: bool = True

    @property
    def branch(self) -> int:
        """The address of the branch."""
        return self.start + sum(map(len, self.body))

    @property
    def end(self) -> int:
        return self.branch + (BRANCH_BYTES[self.kind] if self.taken else len(UNTAKEN))

    @property
    def code(self) -> bytes:
        distance = (self.target - self.end).to_bytes(4, "little", signed=True)
        match self.kind:
            case "conditional" if not self.taken:
                branch = UNTAKEN
            case "conditional":
                branch = b"\x0f\x85" + distance
            case "jump":
                branch = b"\xe9" + distance
            case "call":
                branch = b"\xe8" + distance
            case "return":
                branch = b"\xc3"
        return b"".join(self.body) + branch

    @property
    def simulated(self) -> tuple[int, list[int], str, int, bool]:
        """As `kernsmith._native.loop_cycles` takes it."""
        sizes = [*map(len, self.body), self.end - self.branch]
        return self.start, sizes, self.kind, self.target, self.taken


@dataclass(frozen=True)
class Group:
    """What loops have in common.

    blocks: that end with a taken branch, in each. calls, jumps: so many of 1 are calls with what
    they call and what they return to, and jumps; the rest is conditional. body: bytes of a block in
    front of its branch, from and below. untaken: of 1, blocks with a conditional branch in front
    that is not taken. apart: bytes of the region that there are for each block.
    """

    what: str
    blocks: int = 0
    calls: float = 0.0
    jumps: float = 0.0
    body: tuple[int, int] = (2, 40)
    untaken: float = 0.0
    apart: int = 240


def nops(size: int) -> tuple[bytes, ...]:
    """Instructions that do nothing, of so many bytes."""
    whole, rest = divmod(size, len(NOPS))
    return (NOPS[-1],) * whole + ((NOPS[rest - 1],) if rest else ())


class _Places:
    """Places in a region that no two pieces of code share."""

    def __init__(self, draw: Random, first: int, size: int) -> None:
        self._draw, self._first, self._size = draw, first, size
        self._taken: set[int] = set()

    def take(self, size: int) -> int:
        """The address of so many bytes that are free, and 16 behind them."""
        while True:
            at = self._draw.randrange(self._size - size)
            wanted = range(at >> 4, (at + size + 16 >> 4) + 1)
            if self._taken.isdisjoint(wanted):
                self._taken.update(wanted)
                return self._first + at


@dataclass(frozen=True)
class _Piece:
    """A block, of which is not drawn yet where it leads.

    body: bytes in front of its branch. early: bytes in front of a branch that is not taken.
    """

    at: int
    kind: Kind
    body: int
    early: int | None

    def steps(self, target: int) -> Iterator[Step]:
        if self.early is None:
            yield Step(self.at, nops(self.body), self.kind, target)
            return
        first = Step(self.at, nops(self.early), "conditional", 0, taken=False)
        yield Step(self.at, first.body, "conditional", first.end + UNTAKEN[1], taken=False)
        rest = self.body - (first.end - self.at)
        yield Step(first.end, nops(rest), self.kind, target)


def drawn(group: Group, draw: Random, region: int) -> list[Step]:
    """A loop of a group, in the region that begins at this address.

    It is called at its first step, counts `ecx` down, and returns when that is zero. It may not be
    when it is called, nor may the flag of zero be set.
    """
    places = _Places(draw, region, max(group.blocks * group.apart, 1 << 16))
    pieces: list[_Piece] = []

    def add(kind: Kind, at: int, body: int) -> int:
        """Returns the address behind it."""
        room = body - len(UNTAKEN)
        early = draw.randrange(1, room) if draw.random() < group.untaken and room > 1 else None
        pieces.append(_Piece(at, kind, body, early))
        return at + body + BRANCH_BYTES[kind]

    while len(pieces) < group.blocks:
        chance, body = draw.random(), draw.randrange(*group.body)
        if chance < group.calls:
            called, back = draw.randrange(*group.body), draw.randrange(*group.body)
            size = body + BRANCH_BYTES["call"] + back + BRANCH_BYTES["conditional"]
            returned = add("call", places.take(size), body)
            add("return", places.take(called + 1), called)
            add("conditional", returned, back)
        else:
            kind: Kind = "jump" if chance < group.calls + group.jumps else "conditional"
            add(kind, places.take(body + BRANCH_BYTES[kind]), body)
    closing = Step(places.take(16), (CLOSING,), "conditional", pieces[0].at)
    targets = [*(piece.at for piece in pieces[1:]), closing.start]
    each = zip(pieces, targets, strict=True)
    return [*(step for piece, target in each for step in piece.steps(target)), closing]


def code(steps: Sequence[Step]) -> dict[int, bytes]:
    """What is at which address, with the return that ends the loop."""
    return {step.start: step.code for step in steps} | {steps[-1].end: b"\xc3"}
