# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles by function and line, as LLVM's text form has them.

`NAME:TOTAL:HEAD` begins a function; each line below is one level deeper in inlined code than it is
indented: `LINE[.DISCRIMINATOR]: COUNT [CALLEE:COUNT …]`, or `LINE[.DISCRIMINATOR]: NAME:TOTAL`
where NAME was inlined (`SampleProfileReaderText` of LLVM). Lines are told from the function's
first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, UserError
from kernsmith.files import replacing, write_text
from kernsmith.kernel.toolchain import Toolchain

READ_SECONDS = 300.0
_SECTION, _FLOW_SENSITIVE = "ProfileSummarySection", "fs-discriminator"
# Base discriminators have 12 bits at most (LLVM, DILocation::getPrefixEncodingFromUnsigned).
_MOST_PLAIN = (1 << 12) - 1
_DEEPEST = 200
"""How often code may be inlined in code that is inlined; compilers do it some ten times."""

Place = tuple[int, int]
"""A line behind the function's first, and the discriminator that parts its blocks; 0 without."""


@dataclass
class Samples:
    """Counts of a function, or of one that was inlined in another.

    total, head: of all its lines, and of calls to it. lines: by place, the count, and those of what
    was called there. inlined: what was inlined at a place, by name.
    """

    total: int = 0
    head: int = 0
    lines: dict[Place, tuple[int, dict[str, int]]] = field(default_factory=dict)
    inlined: dict[Place, dict[str, Samples]] = field(default_factory=dict)

    def counted(self) -> int:
        """The sum over its lines, and over those of what is inlined in it."""
        own = sum(count for count, _ in self.lines.values())
        return own + sum(inner.counted() for _, _, inner in self.inner())

    def inner(self) -> Iterator[tuple[Place, str, Samples]]:
        """What is inlined in it: where, its name, its counts."""
        for place, named in self.inlined.items():
            for name, samples in named.items():
                yield place, name, samples

    def add_line(self, place: Place, count: int, targets: Mapping[str, int]) -> None:
        """Count a line; counts of one place add up."""
        known, called = self.lines.get(place, (0, {}))
        for name, times in targets.items():
            called[name] = called.get(name, 0) + times
        self.lines[place] = known + count, called


Profile = dict[str, Samples]
"""Functions by name."""


def parse_profile(lines: Iterable[str]) -> Profile:
    """A profile from its text.

    Raises:
        UserError: its functions are inlined in one another deeper than any compiler does it.
    """
    found: Profile = {}
    stack: list[Samples] = []
    for line in lines:
        inner = line.lstrip(" ")
        depth = len(line) - len(inner)
        if not inner.strip():
            continue
        if depth > _DEEPEST:
            raise UserError(f"the profile has code that is inlined {depth} levels deep")
        if depth == 0:
            name, total, head = inner.rsplit(":", 2)
            stack = [found.setdefault(name, Samples())]
            stack[0].total += int(total)
            stack[0].head += int(head)
            continue
        at, _, told = inner.partition(": ")
        if inner.startswith("!") or not told:
            continue
        del stack[depth:]
        number, _, discriminator = at.partition(".")
        place = int(number), int(discriminator or 0)
        if told[0].isdigit():
            count, *words = told.split()
            targets = (word.rsplit(":", 1) for word in words)
            stack[-1].add_line(place, int(count), {name: int(times) for name, times in targets})
        else:
            name, total = told.rsplit(":", 1)
            samples = stack[-1].inlined.setdefault(place, {}).setdefault(name, Samples())
            samples.total += int(total)
            stack.append(samples)
    return found


def profile_text(profile: Profile) -> str:
    """The text of a profile, functions and lines sorted."""
    told: list[str] = []
    for name, samples in sorted(profile.items()):
        told.append(f"{name}:{samples.total}:{samples.head}")
        told += _body(samples, 1)
    return "".join(f"{line}\n" for line in told)


def _body(samples: Samples, depth: int) -> Iterator[str]:
    margin = " " * depth
    for place, (count, targets) in sorted(samples.lines.items()):
        called = "".join(f" {name}:{times}" for name, times in sorted(targets.items()))
        yield f"{margin}{_place(place)}: {count}{called}"
    for place, named in sorted(samples.inlined.items()):
        for name, inner in sorted(named.items()):
            yield f"{margin}{_place(place)}: {name}:{inner.total}"
            yield from _body(inner, depth + 1)


def _place(place: Place) -> str:
    line, discriminator = place
    return f"{line}.{discriminator}" if discriminator else str(line)


def read_profile(file: Path, toolchain: Toolchain) -> Profile:
    """An AutoFDO profile of any form that LLVM reads.

    Raises:
        UserError: it cannot be read.
    """
    words: list[str | Path] = [toolchain.tool("llvm-profdata"), "merge", "--sample", "--text"]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        try:
            process.run([*words, f"--output={text}", file], log=None, timeout=READ_SECONDS)
        except ProcessFailed as error:
            reason = error.tail.splitlines()[-1] if error.tail else "it cannot be read"
            raise UserError(f"{file} is not a usable AutoFDO profile: {reason}") from None
        return parse_profile(text.read_text(encoding="utf-8", errors="replace").splitlines())


def has_flow_sensitive(file: Path, profile: Profile, toolchain: Toolchain) -> bool:
    """Whether a profile's discriminators are those of `-enable-fs-discriminator`.

    An extended binary file says so. Other forms cannot: there they are, where one of them is larger
    than others can be.

    file: what `profile` was read of.
    """
    words: list[str | Path] = [
        toolchain.tool("llvm-profdata"), "show", "--sample", "--show-sec-info-only", file
    ]  # fmt: skip
    told = process.run(words, log=None, timeout=READ_SECONDS, merge=False).output
    if _SECTION in told:
        return _FLOW_SENSITIVE in told
    return any(_largest(samples) > _MOST_PLAIN for samples in profile.values())


def _largest(samples: Samples) -> int:
    """Of its discriminators."""
    own = (discriminator for _, discriminator in (*samples.lines, *samples.inlined))
    return max((*own, *(_largest(inner) for _, _, inner in samples.inner())), default=0)


def write_profile(
    profile: Profile, toolchain: Toolchain, target: Path, *, flow_sensitive: bool = True
) -> Path:
    """Write a profile as compilers read it (extended binary); returns `target`.

    flow_sensitive: whether its discriminators are those of `-enable-fs-discriminator`, which text
        cannot tell.
    """
    kind = ["-profile-isfs"] if flow_sensitive else []
    with tempfile.TemporaryDirectory() as folder, replacing(target) as made:
        text = Path(folder) / "text"
        write_text(text, profile_text(profile))
        words: list[str | Path] = [
            toolchain.tool("llvm-profdata"), "merge", "--sample", "--extbinary", *kind,
            f"--output={made}", text,
        ]  # fmt: skip
        process.run(words, log=None, timeout=READ_SECONDS)
    return target
