# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the objects that make a bad kernel bad: `ddmin` over mixed kernels, by linking alone.

Suspects are the objects that differ. Each test links the good kernel with some of them in the bad
kernel's form, and judges it; several tests run at once. What was judged is kept in a file, one
line a mixed kernel: after a kill the same call goes on from there.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from kernsmith.document import BlameDocument, BlamedView, MixedSideView, MixTestView
from kernsmith.engine.ddmin import ddmin
from kernsmith.engine.events import Events
from kernsmith.engine.journal import Journal, mix_name
from kernsmith.engine.metric_test import ChangesMetric
from kernsmith.engine.mix_tests import BAD, GOOD, UNRESOLVED, Judged, MixTest
from kernsmith.errors import KernsmithError, UserError
from kernsmith.files import locked
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import LinkFailed
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.object_code import NoObject, changed_functions
from kernsmith.study.variant import digest_of
from kernsmith.threads import each_of, threads

_STEADY = 3
"""How often a test that may be flaky is asked about the good and about the bad kernel."""

_PARTS = 3
"""Into so many parts suspects are split where several are judged at once: two tell which of
three it is, if it is one."""


class Flaky(KernsmithError):
    """A test that says different things of one kernel."""


@dataclass(frozen=True)
class Blame:
    """What to search, and where to keep the state.

    folder: of the state of this search and no other one. slots: tests at once.
    """

    pair: Pair
    test: MixTest
    folder: Path
    events: Events
    slots: int = os.cpu_count() or 1

    def run(self) -> BlameDocument:
        """Go through to the objects that are to blame.

        Raises:
            UserError: the kernels cannot be mixed, the good one is bad, or they are swapped.
            Flaky: the test says different things of one kernel.
        """
        self.pair.check()
        with locked(self.folder / "lock"):
            return self._run(Journal(self.folder / "tests.jsonl"))

    def _run(self, journal: Journal) -> BlameDocument:
        suspects = self.pair.suspects
        self.events.stage(f"{len(suspects)} of {len(self.pair.objects)} objects are suspects")
        good, bad = self._ends(journal, suspects)
        self._check_good(good, bad)
        if bad.verdict == UNRESOLVED:
            raise KernsmithError(f"the bad kernel cannot be judged: {bad.reason}")
        if bad.verdict != BAD:
            return self._document(journal, (), link_is_bad=self._link_is_bad(journal))
        test = self.test.limited(good)
        if isinstance(self.test, ChangesMetric):
            test = self.test.halved(bad)
        self.events.stage("search")
        self._tell(len(suspects))
        parts = _PARTS if self.slots > 1 else 2
        blamed = ddmin(suspects, partial(self._first_bad, journal, test), self._tell, parts)
        self._confirm(test, blamed)
        limit = test.limit if isinstance(test, ChangesMetric) else None
        return self._document(journal, blamed, limit=limit, image=self._image(blamed))

    def _ends(self, journal: Journal, suspects: tuple[str, ...]) -> tuple[Judged, Judged]:
        """The good kernel, and the one with all objects of the bad one."""
        self.events.note("is the good kernel good, and the bad one bad?")
        with threads(self.slots) as pool:
            sides = list(dict.fromkeys([(), suspects]))
            said = each_of(pool, partial(self._judge, journal, self.test), sides)
        good, bad = said[0], said[-1]
        if self.test.exact:
            return good, bad
        for name, taken, first in (("good", (), good), ("bad", suspects, bad)):
            again = range(1, _STEADY)
            said = [first, *(self._fresh(self.test, taken, f"{name}-{n}") for n in again)]
            counted = Counter(each.verdict for each in said)
            if len(counted) > 1:
                words = ", ".join(f"{verdict} {n} times" for verdict, n in counted.items())
                raise Flaky(
                    f"the test is flaky: of one and the same {name} kernel it said {words}; say "
                    "--repeat N with an N that shows a bad kernel as bad at least once"
                )
        return good, bad

    def _check_good(self, good: Judged, bad: Judged) -> None:
        if good.verdict == GOOD:
            return
        if good.verdict == BAD and bad.verdict == GOOD:
            raise UserError(
                f"--good and --bad are swapped: the good kernel is bad ({good.reason}), and the "
                "bad one is good"
            )
        what = "is bad, too" if good.verdict == BAD else "cannot be judged"
        raise UserError(f"the good kernel {what}: {good.reason}")

    def _link_is_bad(self, journal: Journal) -> bool:
        """Whether the bad kernel is bad as it was built, though its objects are not."""
        known = journal.of("itself")
        if known is not None:
            return Judged(**known).verdict == BAD
        found = self.test.judge_itself(self.pair.bad, self.folder / "itself")
        journal.add("itself", len(self.pair.suspects), asdict(found))
        return found.verdict == BAD

    def _first_bad(
        self, journal: Journal, test: MixTest, parts: Sequence[tuple[str, ...]]
    ) -> int | None:
        """The first of some sets of objects that makes the good kernel bad."""
        with threads(self.slots) as pool:
            for at in range(0, len(parts), self.slots):
                together = parts[at : at + self.slots]
                said = each_of(pool, partial(self._judge, journal, test), together)
                for place, judged in enumerate(said):
                    if judged.verdict == BAD:
                        return at + place
        return None

    def _judge(self, journal: Journal, test: MixTest, taken: tuple[str, ...]) -> Judged:
        """What is said of a mixed kernel; asked once."""
        name = mix_name(taken)
        known = journal.of(name)
        if known is not None:
            return Judged(**known)
        found = self._fresh(test, taken, name)
        journal.add(name, len(taken), asdict(found))
        words = f"{len(taken)} objects of the bad kernel: {found.verdict}"
        self.events.note(f"{words}{f': {found.reason}' if found.reason else ''}")
        return found

    def _fresh(self, test: MixTest, taken: Collection[str], name: str) -> Judged:
        judged = Judged(UNRESOLVED)
        for number in range(test.repeats):
            folder = self.folder / (f"{name}-again-{number}" if number else name)
            try:
                judged = test.judge(self.pair, taken, folder)
            except LinkFailed as error:
                judged = Judged(UNRESOLVED, f"it does not link: {str(error).splitlines()[0]}")
            if judged.verdict != BAD:
                (folder / "vmlinux").unlink(missing_ok=True)
            if judged.verdict != GOOD:
                break
        return judged

    def _confirm(self, test: MixTest, blamed: tuple[str, ...]) -> None:
        if test.exact:
            return
        again = self._fresh(test, blamed, "confirm")
        if again.verdict != BAD:
            names = ", ".join(blamed)
            raise Flaky(
                f"the test is flaky: the kernel with {names} of the bad one was bad, and is "
                f"{again.verdict} now; say --repeat N with an N that shows a bad kernel as bad at "
                "least once"
            )

    def _tell(self, left: int) -> None:
        self.events.progress(
            "objects are no suspects any more", len(self.pair.suspects) - left,
            len(self.pair.suspects),
        )  # fmt: skip
        self.events.note(f"{left} suspects left" if left > 1 else "1 suspect left")

    def _image(self, blamed: tuple[str, ...]) -> Path:
        """The kernel with the objects that are to blame, and no other mixed image any more."""
        place = self.folder / "blamed"
        judged = self.folder / mix_name(blamed)
        if not (place / "vmlinux").exists():
            if (judged / "vmlinux").exists():
                shutil.rmtree(place, ignore_errors=True)
                judged.rename(place)
            else:
                self.pair.link(blamed, place)
        for image in self.folder.glob("*/vmlinux"):
            if image.parent != place:
                image.unlink()
        return place / "vmlinux"

    def _document(
        self,
        journal: Journal,
        blamed: Sequence[str],
        *,
        link_is_bad: bool = False,
        limit: float | None = None,
        image: Path | None = None,
    ) -> BlameDocument:
        return BlameDocument(
            good=side_view(self.pair.good),
            bad=side_view(self.pair.bad),
            base="good" if self.pair.base is self.pair.good else "bad",
            test=self.test.name,
            metric=self.test.metric if isinstance(self.test, ChangesMetric) else "",
            objects=len(self.pair.objects),
            suspects=len(self.pair.suspects),
            tests=_views(journal),
            blamed=tuple(BlamedView(name, self._functions(name)) for name in blamed),
            link_is_bad=link_is_bad,
            limit=limit,
            vmlinux=str(image.absolute()) if image else "",
        )

    def _functions(self, name: str) -> tuple[str, ...]:
        """Of which the code differs; none where that cannot be read."""
        try:
            return changed_functions(self.pair.good.output / name, self.pair.bad.output / name)
        except NoObject:
            return ()


def blame_key(pair: Pair, test: MixTest) -> str:
    """What tells one search from another: a word for a folder's name."""
    return digest_of([pair.good.key, pair.bad.key, test.identity()])[:8]


def _views(journal: Journal) -> tuple[MixTestView, ...]:
    return tuple(
        MixTestView(number=number, taken=taken, **judged)
        for number, (taken, judged) in enumerate(journal, 1)
    )


def side_view(kernel: Kernel) -> MixedSideView:
    """One of two kernels, in a result."""
    return MixedSideView(
        kernel.provenance["variant"]["name"], kernel.key, str(kernel.vmlinux.absolute())
    )
