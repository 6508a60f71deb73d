# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile of another version, carried to a kernel's own functions and lines.

A compiler looks counts up by a function's name and by lines from its first; one line more at the
top of a function, and nothing below is found. What a function calls stays, mostly, and in its
order. So the calls of both versions are aligned (Ratcliff and Obershelp, as `difflib` has it), and
a line between two aligned calls moves with the one that is nearer. A function of which the name is
gone is taken for a new one that calls the same things.

Source: stale profile matching of LLVM (`llvm/lib/Transforms/IPO/SampleProfileMatcher.cpp`), which
needs a checksum in the profile (pseudo probes) that kernels have not got.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from kernsmith.profile.lines import Place, Profile, Samples

# LLVM's `func-profile-similarity-threshold`. Fewer different calls tell nothing: locks are
# everywhere.
_ALIKE, _FEWEST_CALLS = 0.8, 5
# Of functions of which one's name has the other's in it.
_ALIKE_AND_NAMED, _FEWEST_CALLS_AND_NAMED = 0.4, 2
_CANDIDATES = 20
# Lines are told in 16 bits; from here on they stand before the function (macros, mostly).
_BEFORE = 1 << 15


@dataclass
class _Function:
    """A function wherever it was inlined. calls: by line, what is called there, sorted by name."""

    lines: set[int] = field(default_factory=set)
    calls: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))

    def anchors(self) -> list[tuple[int, str]]:
        return [(line, name) for line in sorted(self.calls) for name in sorted(self.calls[line])]


@dataclass(frozen=True)
class Carried:
    """A profile for another kernel.

    found, before: the share of its counts, from 0 to 1, that a compiler finds a place for, and of
        those of the profile as it was. renamed: old and new names of functions. left: functions
        that the profile has no more, as less than half of their counts would be found: the rest
        would tell the compiler that what ran is cold.
    """

    profile: Profile
    found: float
    before: float
    renamed: Mapping[str, str]
    left: tuple[str, ...]


def carry(profile: Profile, kernel: Profile) -> Carried:
    """A profile with the lines and names of a kernel's functions.

    kernel: a profile of it in which all ran once, and everything called what it calls (see
        `staleness.kernel_lines`).
    """
    old, new = _flattened(profile), _flattened(kernel)
    renamed = _renamed(old, new)
    moves = _Moves(old, new, renamed)
    made: Profile = {}
    for name, samples in profile.items():
        target = made.setdefault(renamed.get(name, name), Samples())
        moves.add(name, samples, target)
    whole = sum(samples.counted() for samples in profile.values()) or 1
    found = {name: _found(name, samples, new) for name, samples in made.items()}
    left = [name for name, count in found.items() if 2 * count < made[name].counted()]
    for name in left:
        del made[name], found[name]
    before = sum(_found(name, samples, new) for name, samples in profile.items())
    return Carried(made, sum(found.values()) / whole, before / whole, renamed, tuple(sorted(left)))


def _found(name: str, samples: Samples, functions: Mapping[str, _Function]) -> int:
    """Counts that a compiler finds a place for: the function has the name, the line has code, and
    what was inlined is called, or inlined, at that line."""
    own = functions.get(name)
    if own is None:
        return 0
    count = sum(times for (line, _), (times, _) in samples.lines.items() if line in own.lines)
    return count + sum(
        _found(inner_name, inner, functions)
        for (line, _), inner_name, inner in samples.inner()
        if inner_name in own.calls.get(line, ())
    )


def _flattened(profile: Profile) -> dict[str, _Function]:
    """Functions wherever they were inlined, too."""
    found: defaultdict[str, _Function] = defaultdict(_Function)

    def take(name: str, samples: Samples) -> None:
        own = found[name]
        for (line, _), (_, targets) in samples.lines.items():
            own.lines.add(line)
            if targets:
                own.calls[line] |= set(targets)
        for (line, _), inner_name, inner in samples.inner():
            own.lines.add(line)
            own.calls[line].add(inner_name)
            take(inner_name, inner)

    for name, samples in profile.items():
        take(name, samples)
    return found


def lines_with_code(kernel: Profile) -> dict[str, set[int]]:
    """By function, the lines at which a kernel has code of it, or of what is inlined there."""
    return {name: function.lines for name, function in _flattened(kernel).items()}


def _renamed(old: Mapping[str, _Function], new: Mapping[str, _Function]) -> dict[str, str]:
    """Functions whose names are gone, and the new ones that call the same things."""
    strangers = {name: function for name, function in new.items() if name not in old}
    callers: defaultdict[str, set[str]] = defaultdict(set)
    for name, function in strangers.items():
        for _, callee in function.anchors():
            callers[callee].add(name)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name, function in old.items():
        own = [callee for _, callee in function.anchors()]
        different = set(own)
        if name in new or len(different) < _FEWEST_CALLS_AND_NAMED:
            continue
        shared = Counter(other for callee in different for other in callers[callee] - taken)
        candidates = sorted(shared, key=lambda other: (-shared[other], other))[:_CANDIDATES]
        rated = [
            (_likeness(own, strangers[other]), other)
            for other in candidates
            if name in other or other in name or len(different) >= _FEWEST_CALLS
        ]
        alike, best = max(rated, default=(0.0, ""))
        if alike >= (_ALIKE_AND_NAMED if name in best or best in name else _ALIKE):
            found[name] = best
            taken.add(best)
    return found


def _likeness(callees: list[str], other: _Function) -> float:
    """From 0 to 1: how much of both sequences of calls is the same, in the same order."""
    theirs = [callee for _, callee in other.anchors()]
    return SequenceMatcher(None, callees, theirs, autojunk=False).ratio()


class _Moves:
    """Where the lines of old functions are in the new ones."""

    def __init__(
        self,
        old: Mapping[str, _Function],
        new: Mapping[str, _Function],
        renamed: Mapping[str, str],
    ) -> None:
        self._old = old
        self._new = new
        self._renamed = renamed
        self._aligned: dict[str, list[tuple[int, int]]] = {}

    def add(self, name: str, samples: Samples, target: Samples) -> None:
        """Add the counts of a function, or of what was inlined, where they are now."""
        target.total += samples.total
        target.head += samples.head
        for (line, discriminator), (count, targets) in samples.lines.items():
            place = self._line(name, line), discriminator
            now = {self._renamed.get(called, called): times for called, times in targets.items()}
            target.add_line(place, count, now)
        for (line, discriminator), inner_name, inner in samples.inner():
            at: Place = self._line(name, line), discriminator
            now_called = self._renamed.get(inner_name, inner_name)
            named = target.inlined.setdefault(at, {})
            self.add(inner_name, inner, named.setdefault(now_called, Samples()))

    def _line(self, name: str, line: int) -> int:
        if line >= _BEFORE:
            return line
        if name not in self._aligned:
            self._aligned[name] = self._align(name)
        pairs = self._aligned[name]
        at = bisect_right(pairs, (line, 1 << 20)) - 1
        before = pairs[max(at, 0)]
        if at + 1 < len(pairs) and pairs[at + 1][0] - line < line - before[0]:
            before = pairs[at + 1]
        return min(max(line + before[1] - before[0], 0), _BEFORE - 1)

    def _align(self, name: str) -> list[tuple[int, int]]:
        """Lines that are the same, old and new, sorted; the function's first always is."""
        now = self._new.get(self._renamed.get(name, name))
        function = self._old[name]
        if now is None or _fits(function, now):
            return [(0, 0)]
        ours = [(line, self._renamed.get(called, called)) for line, called in function.anchors()]
        theirs = now.anchors()
        matcher = SequenceMatcher(None, _names(ours), _names(theirs), autojunk=False)
        pairs = {0: 0}
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                pairs.setdefault(ours[block.a + step][0], theirs[block.b + step][0])
        return sorted(pairs.items())


def _names(anchors: Iterable[tuple[int, str]]) -> list[str]:
    return [name for _, name in anchors]


def _fits(function: _Function, now: _Function) -> bool:
    """Whether nothing has to move: every line has code, and calls are where they were."""
    called = set().union(*now.calls.values()) if now.calls else set()
    return function.lines <= now.lines and all(
        not names & called or names & now.calls.get(line, set())
        for line, names in function.calls.items()
    )
