# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges mixed kernels for a search: several at once, none twice, and each kept in a journal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from kernsmith.engine.events import Events
from kernsmith.engine.journal import Journal, mix_name
from kernsmith.engine.mix_tests import BAD, GOOD, UNRESOLVED, Judged, MixTest
from kernsmith.errors import KernsmithError
from kernsmith.kernel.exchange import by_object
from kernsmith.kernel.link import LinkFailed
from kernsmith.kernel.mixed import Pair
from kernsmith.threads import each_of, threads

_PARTS = 3
"""Into so many parts suspects are split where several are judged at once: two tell which of
three it is, if it is one."""


class Flaky(KernsmithError):
    """A test that says different things of one kernel."""


@dataclass(frozen=True)
class MixJudge:
    """folder: of the state, in which each mixed kernel has a folder. slots: tests at once."""

    pair: Pair
    folder: Path
    journal: Journal
    events: Events
    slots: int

    @property
    def parts(self) -> int:
        """Into how many parts suspects are best split."""
        return _PARTS if self.slots > 1 else 2

    def each(self, test: MixTest, mixes: Sequence[tuple[str, ...]]) -> list[Judged]:
        """What is said of some mixed kernels."""
        with threads(self.slots) as pool:
            return each_of(pool, partial(self.one, test), mixes)

    def first_bad(
        self, test: MixTest, beside: tuple[str, ...], parts: Sequence[tuple[str, ...]]
    ) -> int | None:
        """The first of some parts that makes the good kernel bad. beside: what all have, too."""
        for at in range(0, len(parts), self.slots):
            together = [beside + part for part in parts[at : at + self.slots]]
            for place, judged in enumerate(self.each(test, together)):
                if judged.verdict == BAD:
                    return at + place
        return None

    def one(self, test: MixTest, taken: tuple[str, ...]) -> Judged:
        """What is said of a mixed kernel; asked once."""
        name = mix_name(taken)
        known = self.journal.of(name)
        if known is not None:
            return Judged(**known)
        found = self.fresh(test, taken, name)
        objects, functions = _amount(taken)
        self.journal.add(name, objects, asdict(found), functions)
        count, what = (objects, "object") if functions is None else (functions, "function")
        words = f"{count} {what}{'' if count == 1 else 's'} of the bad kernel: {found.verdict}"
        self.events.note(f"{words}{f': {found.reason}' if found.reason else ''}")
        return found

    def fresh(self, test: MixTest, taken: Collection[str], name: str) -> Judged:
        """The same, asked anew. name: of a folder."""
        judged = Judged(UNRESOLVED)
        for number in range(test.repeats):
            folder = self.folder / (f"{name}-again-{number}" if number else name)
            try:
                judged = test.judge(self.pair, taken, folder)
            except LinkFailed as error:
                if error.of_host:
                    raise
                judged = Judged(UNRESOLVED, f"it does not link: {str(error).splitlines()[0]}")
            if judged.verdict != BAD:
                (folder / "vmlinux").unlink(missing_ok=True)
            if judged.verdict != GOOD:
                break
        return judged

    def confirm(self, test: MixTest, blamed: Collection[str], name: str) -> None:
        """That what was found is still bad, where a test may say something else next time.

        Raises:
            Flaky: it is not.
        """
        if test.exact:
            return
        again = self.fresh(test, blamed, name)
        if again.verdict != BAD:
            names = ", ".join(blamed)
            raise Flaky(
                f"the test is flaky: the kernel with {names} of the bad one was bad, and is "
                f"{again.verdict} now; say --repeat N with an N that shows a bad kernel as bad at "
                "least once"
            )


def _amount(taken: Collection[str]) -> tuple[int, int | None]:
    """Of how many objects something is taken; and how many functions, where it is not all whole."""
    parts = by_object(taken)
    functions = [each for each in parts.values() if each is not None]
    return len(parts), sum(map(len, functions)) if functions else None
