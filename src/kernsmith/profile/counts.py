# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact branch counts: how often each straight run of code was executed and each branch taken.

The body of the file is llvm-profgen's unsymbolized profile (LLVM, `llvm-profgen` command guide):
the number of ranges, `start-end:count` lines, the number of branches, `from->to:count` lines, all
addresses hexadecimal. kernsmith puts three lines before it: the format's version, with the word
`sampled` where not everything that ran was seen; the build id of the kernel; and the workloads.
Where they are known, a line follows with the source that the kernel was built from (`source WORDS`)
and one for each machine that it ran on (`machine WORDS`). Of a kernel that had loaded modules there
is a line more for each section of their code, which says where it was: `module NAME SECTION
START-END`, hexadecimal; the end is behind the last byte.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.files import write_text

MAGIC = "kernsmith-counts 1"
_SAMPLED = " sampled"
_SOURCE, _MACHINE = "source ", "machine "
_RANGE = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16}):(\d{1,20})")
_BRANCH = re.compile(r"([0-9a-f]{1,16})->([0-9a-f]{1,16}):(\d{1,20})")

_MODULE = re.compile(r"module (\w{1,55}) (\S{1,200}) ([0-9a-f]{1,16})-([0-9a-f]{1,16})", re.ASCII)
_PAGE = 4096
MOST = 1 << 63
"""Counts of a profile at most: LLVM keeps them in 64 bits."""
_LARGEST = (1 << 64) - 1
# Where llvm-profgen has branches come from that are of other code than its binary's.
OUTSIDE = 1

Pair = tuple[int, int]
ModuleSpans = Mapping[str, Mapping[str, Pair]]
"""Code of modules: by module and section, the first address and the one behind the last."""


@dataclass(frozen=True)
class BranchCounts:
    """Counts of one kernel.

    ranges: (first byte, address of the last instruction) → executions.
    branches: (address of the branch, target) → times taken.
    build_id: of the `vmlinux` that the addresses belong to, hexadecimal.
    sampled: whether code without counts may have run.
    modules: where the code of modules was.
    source: what the kernel was built from, in words; empty where nobody knows.
    machines: where it ran, in words; none where nobody knows.
    """

    ranges: Mapping[Pair, int]
    branches: Mapping[Pair, int]
    build_id: str = ""
    workloads: tuple[str, ...] = ()
    sampled: bool = False
    modules: ModuleSpans = field(default_factory=dict)
    source: str = ""
    machines: tuple[str, ...] = ()

    @property
    def weight(self) -> int:
        """Bytes of code executed: the size of the profile for weighting."""
        return sum((end - start + 1) * count for (start, end), count in self.ranges.items())

    def scaled(self, factor: float) -> BranchCounts:
        """All counts times a factor, rounded; of what ran, never below 1."""

        def scaled(counts: Mapping[Pair, int]) -> dict[Pair, int]:
            return {
                pair: max(1, round(count * factor)) if count else 0
                for pair, count in counts.items()
            }

        return replace(self, ranges=scaled(self.ranges), branches=scaled(self.branches))

    def without_targets(self, spans: Sequence[Pair]) -> BranchCounts:
        """Without branches into these address ranges (start, end), sorted and apart.

        An interrupt that arrives between an indirect branch and its target looks like a branch
        to the interrupt's entry. Entry code is never the target of a real branch from elsewhere.
        """
        starts = [start for start, _ in spans]

        def entry(address: int) -> bool:
            at = bisect_right(starts, address) - 1
            return at >= 0 and address < spans[at][1]

        kept = {
            (source, target): count
            for (source, target), count in self.branches.items()
            if not entry(target) or entry(source)
        }
        return replace(self, branches=kept)

    def of_kernel(self) -> BranchCounts:
        """Of the kernel itself, without its modules; branches from there come from `OUTSIDE`."""
        if not self.modules:
            return self
        spans = [span for sections in self.modules.values() for span in sections.values()]
        return self._within(lambda address: not any(a <= address < b for a, b in spans))

    def of_module(self, name: str) -> BranchCounts:
        """Of one of the modules; branches from all other code come from `OUTSIDE`."""
        spans = list(self.modules[name].values())
        return self._within(lambda address: any(a <= address < b for a, b in spans))

    def _within(self, inside: Callable[[int], bool]) -> BranchCounts:
        branches: dict[Pair, int] = {}
        for (source, target), count in self.branches.items():
            if inside(target):
                pair = (source if inside(source) else OUTSIDE, target)
                branches[pair] = branches.get(pair, 0) + count
        ranges = {pair: count for pair, count in self.ranges.items() if inside(pair[0])}
        return replace(self, ranges=ranges, branches=branches, modules={})


def _at_one_place(parts: Sequence[BranchCounts]) -> list[BranchCounts]:
    """Profiles of one kernel with the code of each module at the same place in all of them.

    Where modules are loaded when somebody wants them, boots have others, in another order. A module
    stays where it is in the first profile that has it, or lies behind all others where one of
    these is there already.

    Raises:
        UserError: a module has other sections than in another boot.
    """
    if all(part.modules == parts[0].modules for part in parts):
        return list(parts)
    places: dict[str, dict[str, Pair]] = {}
    for part in parts:
        for name, sections in part.modules.items():
            if name not in places:
                places[name] = _free_place(sections, places)
    return [_moved(part, places) for part in parts]


def _free_place(sections: Mapping[str, Pair], taken: ModuleSpans) -> dict[str, Pair]:
    others = [span for each in taken.values() for span in each.values()]
    shift = 0
    if any(a < end and start < b for a, b in sections.values() for start, end in others):
        behind = max(end for _, end in others)
        shift = _up_to_page(behind - min(start for start, _ in sections.values()))
    return {section: (a + shift, b + shift) for section, (a, b) in sections.items()}


def _up_to_page(distance: int) -> int:
    return -(-distance // _PAGE) * _PAGE


def _moved(part: BranchCounts, places: ModuleSpans) -> BranchCounts:
    moves: list[tuple[int, int, int]] = []
    for name, sections in part.modules.items():
        for section, (start, end) in sections.items():
            to = places[name].get(section, (0, 0))
            if to[1] - to[0] != end - start:
                raise UserError(
                    f"the module {name} has other code in one of the profiles than in another: "
                    "they cannot be merged"
                )
            moves.append((start, end, to[0] - start))

    def at(address: int) -> int:
        return address + next((by for a, b, by in moves if a <= address < b), 0)

    if all(by == 0 for *_, by in moves):
        return replace(part, modules=places)
    return replace(
        part,
        ranges=_summed(((at(a), at(b)), count) for (a, b), count in part.ranges.items()),
        branches=_summed(((at(a), at(b)), count) for (a, b), count in part.branches.items()),
        modules=places,
    )


def _summed(counted: Iterable[tuple[Pair, int]]) -> dict[Pair, int]:
    found: dict[Pair, int] = {}
    for pair, count in counted:
        found[pair] = found.get(pair, 0) + count
    return found


def merge_counts(parts: Sequence[BranchCounts], weights: Sequence[float] = ()) -> BranchCounts:
    """One profile of several workloads, each with the same weight unless there are `weights`.

    Raises:
        UserError: profiles of different kernels, or of one with modules of other code.
    """
    least = min(weights, default=1.0)
    given = [weight / least for weight in weights] or [1.0] * len(parts)
    identities = {part.build_id for part in parts}
    if len(identities) != 1:
        raise UserError("profiles of different kernels cannot be merged (their build ids differ)")
    parts = _at_one_place(parts)
    heaviest = max(part.weight for part in parts)
    ranges: dict[Pair, int] = {}
    branches: dict[Pair, int] = {}
    for part, weight in zip(parts, given, strict=True):
        scaled = part.scaled(weight * heaviest / part.weight) if part.weight else part
        for pair, count in scaled.ranges.items():
            ranges[pair] = ranges.get(pair, 0) + count
        for pair, count in scaled.branches.items():
            branches[pair] = branches.get(pair, 0) + count
    merged = BranchCounts(
        ranges,
        branches,
        identities.pop(),
        workloads=tuple(dict.fromkeys(name for part in parts for name in part.workloads)),
        sampled=any(part.sampled for part in parts),
        modules=parts[0].modules,
        source=next((part.source for part in parts if part.source), ""),
        machines=tuple(dict.fromkeys(name for part in parts for name in part.machines)),
    )
    most = max((*ranges.values(), *branches.values()), default=0)
    return merged.scaled(MOST / most) if most > MOST else merged


def merge_files(files: Sequence[Path], weights: Sequence[float] = ()) -> BranchCounts:
    """The same of counts files.

    Raises:
        UserError: as `read_counts` and `merge_counts`, with the names of the files.
    """
    parts = [read_counts(file) for file in files]
    first = parts[0].build_id
    for file, part in zip(files, parts, strict=True):
        if part.build_id != first:
            raise UserError(
                f"{files[0]} and {file} are of different kernels and cannot be merged: their build "
                f"ids are {first or 'absent'} and {part.build_id or 'absent'}"
            )
    return merge_counts(parts, weights)


def body_text(counts: BranchCounts) -> str:
    """The counts in llvm-profgen's unsymbolized format, sorted by address."""
    lines = [str(len(counts.ranges))]
    lines += [f"{a:x}-{b:x}:{count}" for (a, b), count in sorted(counts.ranges.items())]
    lines.append(str(len(counts.branches)))
    lines += [f"{a:x}->{b:x}:{count}" for (a, b), count in sorted(counts.branches.items())]
    return "\n".join(lines) + "\n"


def write_counts(counts: BranchCounts, path: Path) -> None:
    """Write a counts file, all at once.

    The names of workloads are ASCII without blanks (see `is_workload_name`).
    """
    first = f"{MAGIC}{_SAMPLED}" if counts.sampled else MAGIC
    head = f"{first}\nbuild-id {counts.build_id}\nworkloads {' '.join(counts.workloads)}\n"
    if source := _one_line(counts.source):
        head += f"{_SOURCE}{source}\n"
    for machine in filter(None, map(_one_line, counts.machines)):
        head += f"{_MACHINE}{machine}\n"
    places = "".join(
        f"module {name} {section} {start:x}-{end:x}\n"
        for name, sections in sorted(counts.modules.items())
        for section, (start, end) in sorted(sections.items())
    )
    write_text(path, head + places + body_text(counts), encoding="ascii")


def is_workload_name(word: str) -> bool:
    """Whether the file can have it: ASCII that is printed, without blanks."""
    return word.isascii() and word.isprintable() and word.split() == [word]


def _one_line(words: str) -> str:
    """Words from elsewhere, such as the name of a processor, as the file can have them."""
    return " ".join(words.split()).encode("ascii", "replace").decode("ascii")


def is_exact(path: Path) -> bool:
    """Whether a file is a counts file in which everything is that ran, by its first line.

    Raises:
        UserError: the file cannot be read.
    """
    if not is_counts(path):
        return False
    with path.open("rb") as file:
        return file.readline(len(MAGIC) + len(_SAMPLED) + 1).rstrip() == MAGIC.encode()


def is_counts(path: Path) -> bool:
    """Whether a file is a counts file, by its first bytes.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC.encode()
    except OSError as error:
        raise UserError(f"cannot read the profile {path}: {error.strerror}") from None


def read_counts(path: Path) -> BranchCounts:
    """Read a counts file.

    Raises:
        UserError: the file cannot be read or is corrupt; the message names the line.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise UserError(f"cannot read the profile {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a profile of kernsmith") from None
    if not lines or lines[0] not in (MAGIC, MAGIC + _SAMPLED):
        raise UserError(f"{path} is not a profile of kernsmith: its first line is not {MAGIC!r}")
    build_id = _header(path, lines, 1, "build-id")
    workloads = _header(path, lines, 2, "workloads").split()
    known = 3
    sources = _words(lines[known:], _SOURCE)[:1]
    known += len(sources)
    machines = _words(lines[known:], _MACHINE)
    known += len(machines)
    modules = _modules(lines[known:])
    known += sum(map(len, modules.values()))
    body = read_body(lines[known:], origin=path, first_line=known + 1)
    return BranchCounts(
        body.ranges,
        body.branches,
        build_id,
        tuple(workloads),
        sampled=lines[0] != MAGIC,
        modules=modules,
        source="".join(sources),
        machines=tuple(machines),
    )


def _words(lines: Sequence[str], begin: str) -> list[str]:
    """What stands behind a word with which the first of some lines begin."""
    own = takewhile(lambda line: line.startswith(begin), lines)
    return [line.removeprefix(begin) for line in own]


def _modules(lines: Sequence[str]) -> ModuleSpans:
    """What lines say, as far as they are of modules."""
    modules: dict[str, dict[str, Pair]] = {}
    for line in lines:
        found = _MODULE.fullmatch(line)
        if found is None or found[2] in modules.get(found[1], {}):
            break
        modules.setdefault(found[1], {})[found[2]] = (int(found[3], 16), int(found[4], 16))
    return modules


def _header(path: Path, lines: Sequence[str], index: int, key: str) -> str:
    line = lines[index] if index < len(lines) else ""
    name, _, value = line.partition(" ")
    if name != key:
        raise UserError(f"{path}, line {index + 1}: expected {key!r}: the profile is corrupt")
    return value


def read_body(lines: Iterable[str], *, origin: Path, first_line: int = 1) -> BranchCounts:
    """Parse counts without kernsmith's header, as the tracer writes them."""
    text = list(lines)
    ranges, used = _section(text, 0, _RANGE, origin, first_line)
    branches, used = _section(text, used, _BRANCH, origin, first_line)
    if any(line.strip() for line in text[used:]):
        raise UserError(f"{origin}, line {first_line + used}: the profile has lines too many")
    return BranchCounts(ranges, branches)


def _section(
    lines: Sequence[str], at: int, form: re.Pattern[str], origin: Path, first_line: int
) -> tuple[dict[Pair, int], int]:
    if at >= len(lines) or not re.fullmatch(r"\d{1,9}", lines[at]):
        raise UserError(f"{origin}, line {first_line + at}: the profile is cut off or corrupt")
    end = at + 1 + int(lines[at])
    found: dict[Pair, int] = {}
    for number in range(at + 1, end):
        match = form.fullmatch(lines[number]) if number < len(lines) else None
        if match is None:
            where = f"{origin}, line {first_line + number}"
            raise UserError(f"{where}: the profile is cut off or corrupt")
        pair = (int(match[1], 16), int(match[2], 16))
        where = f"{origin}, line {first_line + number}"
        if form is _RANGE and pair[0] > pair[1]:
            raise UserError(f"{where}: the profile is corrupt: a range ends before it begins")
        found[pair] = found.get(pair, 0) + int(match[3])
        if found[pair] > _LARGEST:
            raise UserError(f"{where}: the count is above {_LARGEST}, the most that 64 bits hold")
    return found, end
