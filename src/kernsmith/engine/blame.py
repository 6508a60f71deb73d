# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the objects that make a bad kernel bad: `ddmin` over mixed kernels, by linking alone.

Suspects are the objects that differ. Each test links the good kernel with some of them in the bad
kernel's form, and judges it; several tests run at once. Then their functions are searched likewise.
What was judged is kept in a file, one line a mixed kernel: after a kill the same call goes on from
there.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kernsmith.document import (
    BlameDocument,
    BlamedView,
    MixedSideView,
    MixTestView,
    NarrowedView,
)
from kernsmith.engine.blame_functions import FunctionSearch, Narrowed
from kernsmith.engine.ddmin import ddmin
from kernsmith.engine.events import Events
from kernsmith.engine.journal import Journal, mix_name
from kernsmith.engine.metric_test import ChangesMetric
from kernsmith.engine.mix_judge import Flaky, MixJudge
from kernsmith.engine.mix_tests import BAD, GOOD, UNRESOLVED, Judged, MixTest
from kernsmith.errors import KernsmithError, UserError
from kernsmith.files import locked, write_text
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.object_code import NoObject, changed_functions
from kernsmith.study.variant import digest_of

_STEADY = 3
"""How often a test that may be flaky is asked about the good and about the bad kernel."""

_UNSEARCHED: Mapping[str, Narrowed] = MappingProxyType({})


@dataclass(frozen=True)
class Blame:
    """What to search, and where to keep the state.

    folder: of the state of this search and no other one. slots: tests at once. functions: whether
        to go on to the functions of the objects.
    """

    pair: Pair
    test: MixTest
    folder: Path
    events: Events
    slots: int = os.cpu_count() or 1
    functions: bool = True

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
        judge = MixJudge(self.pair, self.folder, journal, self.events, self.slots)
        good, bad = self._ends(judge, suspects)
        self._check_good(good, bad)
        if bad.verdict == UNRESOLVED:
            raise KernsmithError(f"the bad kernel cannot be judged: {bad.reason}")
        if bad.verdict != BAD:
            # Others may be bad, where not all objects are suspects.
            by_link = not self.pair.among and self._link_is_bad(journal)
            return self._document(journal, (), link_is_bad=by_link)
        test = self.test.limited(good)
        if isinstance(self.test, ChangesMetric):
            test = self.test.halved(bad)
        self.events.stage("search")
        self._tell(len(suspects))
        blamed = ddmin(suspects, partial(judge.first_bad, test, ()), self._tell, judge.parts)
        judge.confirm(test, blamed, "confirm")
        taken, narrowed = blamed, _UNSEARCHED
        if self.functions:
            taken, narrowed = FunctionSearch(judge, test).run(blamed)
        return self._document(
            journal,
            blamed,
            narrowed=narrowed,
            limit=test.limit if isinstance(test, ChangesMetric) else None,
            image=self._image(taken),
        )

    def _ends(self, judge: MixJudge, suspects: tuple[str, ...]) -> tuple[Judged, Judged]:
        """The good kernel, and the one with all objects of the bad one."""
        self.events.note("is the good kernel good, and the bad one bad?")
        said = judge.each(self.test, list(dict.fromkeys([(), suspects])))
        good, bad = said[0], said[-1]
        if self.test.exact:
            return good, bad
        for name, taken, first in (("good", (), good), ("bad", suspects, bad)):
            again = range(1, _STEADY)
            said = [first, *(judge.fresh(self.test, taken, f"{name}-{n}") for n in again)]
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

    def _tell(self, left: int) -> None:
        self.events.progress(
            "objects are no suspects any more", len(self.pair.suspects) - left,
            len(self.pair.suspects),
        )  # fmt: skip
        self.events.note(f"{left} suspects left" if left > 1 else "1 suspect left")

    def _image(self, taken: Collection[str]) -> Path:
        """The kernel with what is to blame, and no other mixed image any more."""
        place = self.folder / "blamed"
        judged, named = self.folder / mix_name(taken), place / "taken"
        text = "".join(f"{each}\n" for each in taken)
        if not (named.exists() and named.read_text(encoding="utf-8") == text):
            shutil.rmtree(place, ignore_errors=True)
            if (judged / "vmlinux").exists():
                judged.rename(place)
            else:
                self.pair.link(taken, place)
            write_text(named, text)
        for image in self.folder.glob("*/vmlinux"):
            if image.parent != place:
                image.unlink()
        return place / "vmlinux"

    def _document(
        self,
        journal: Journal,
        blamed: Sequence[str],
        *,
        narrowed: Mapping[str, Narrowed] = _UNSEARCHED,
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
            blamed=tuple(self._blamed(name, narrowed.get(name, Narrowed())) for name in blamed),
            link_is_bad=link_is_bad,
            limit=limit,
            vmlinux=str(image.absolute()) if image else "",
            among=self.pair.among,
        )

    def _blamed(self, name: str, narrowed: Narrowed) -> BlamedView:
        """An object; functions that differ are not named where they cannot be read."""
        try:
            differ = changed_functions(self.pair.good.output / name, self.pair.bad.output / name)
        except NoObject:
            differ = ()
        units = tuple(NarrowedView(unit.functions, unit.along) for unit in narrowed.units)
        return BlamedView(name, differ, units, narrowed.why)


def pair_key(pair: Pair, asked: Any) -> str:
    """What tells one question about two kernels from another: a word for a folder's name."""
    among = [pair.among] if pair.among else []
    return digest_of([pair.good.key, pair.bad.key, asked, *among])[:8]


def blame_key(pair: Pair, test: MixTest) -> str:
    """What tells one search from another: a word for a folder's name."""
    return pair_key(pair, test.identity())


def _views(journal: Journal) -> tuple[MixTestView, ...]:
    return tuple(
        MixTestView(number=number, taken=kept.taken, functions=kept.functions, **kept.judged)
        for number, kept in enumerate(journal, 1)
    )


def side_view(kernel: Kernel) -> MixedSideView:
    """One of two kernels, in a result."""
    return MixedSideView(
        kernel.provenance["variant"]["name"], kernel.key, str(kernel.vmlinux.absolute())
    )
