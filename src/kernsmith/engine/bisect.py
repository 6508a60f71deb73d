# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the commit that made a kernel slower: `git bisect`, judged over layouts.

Each step is a study of two variants: the good revision and the commit in question, over random
layouts paired by place. A commit is bad when the always-valid interval of its change lies above
the threshold, good when it lies below; until one of both holds, layouts are added.

What was decided is kept in a file, one line a step, and measured trials are in the ledger: after
a kill the same call goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import exp, log, log1p
from pathlib import Path

from kernsmith.document import BisectDocument, CommitView, HeldView, StepView
from kernsmith.engine.events import Events
from kernsmith.engine.growth import grow, next_number
from kernsmith.engine.held import held_in
from kernsmith.engine.prepare import prepare, study_digest
from kernsmith.engine.run import run_study
from kernsmith.engine.verdicts import (
    StudyResult,
    direction_of_study,
    in_a_line,
    overall_log_ratios,
    primary_metric,
)
from kernsmith.errors import DiskFull, KernsmithError, ProgramMissing, UserError
from kernsmith.files import append_line, locked, whole_lines
from kernsmith.guest.own_metric import Better
from kernsmith.kernel.history import BAD, GOOD, SKIP, Bisection, Commit, Next, Repository
from kernsmith.ledger import Ledger
from kernsmith.machine import find_machine
from kernsmith.stats.question import OVERALL
from kernsmith.stats.sequential import Look, look_at
from kernsmith.study import Design, Study, digest_of
from kernsmith.study.source_word import SourceWord

INSTRUCTIONS = "kernel_instructions"
_HASH_SHOWN = 12

LEAST_CHANGE = 0.01
"""Per cent: without a threshold of the user's, a smaller change is none. In a kernel that is one
unused function longer, a workload can execute four instructions more, the same in all layouts."""


@dataclass(frozen=True)
class Limit:
    """The change from which a commit is bad.

    change: per cent of the good revision; negative for a metric of which more is better.
    """

    change: float
    better: Better = "lower"

    @property
    def worse_side(self) -> str:
        """Where bad commits lie: `above` the limit or `below` it."""
        return "above" if self.better == "lower" else "below"

    @property
    def better_side(self) -> str:
        """Where good commits lie."""
        return "below" if self.better == "lower" else "above"

    def is_passed_by(self, look: Look) -> bool:
        """Whether the whole interval lies on the worse side."""
        limit = log1p(self.change / 100)
        return look.low > limit if self.better == "lower" else look.high < limit

    def is_kept_by(self, look: Look) -> bool:
        """Whether the whole interval lies on the better side."""
        limit = log1p(self.change / 100)
        return look.high < limit if self.better == "lower" else look.low > limit


Decide = Callable[[Look, Better, bool], tuple[str, str] | None]
"""The decision and its reason; None while layouts are to be added. Takes the metric's direction and
whether these layouts are the last ones."""


@dataclass(frozen=True)
class Found:
    """What came out of a bisection.

    whole: the bad revision against the good one.
    threshold: change in per cent from which a commit counts as bad; see `Limit`.
    first_bad: the commit, or all that it may be; empty when the bad revision is not worse.
    verdict: the first bad commit against its parent; None unless there is exactly one.
    log: of `git bisect`.
    cpu, held: the CPU model, and how true it is; None: it says nothing of that.
    """

    good: Commit
    bad: Commit
    metric: str
    threshold: float
    whole: StepView
    steps: tuple[StepView, ...]
    first_bad: tuple[Commit, ...]
    verdict: StudyResult | None
    log: str
    cpu: str
    held: HeldView | None


@dataclass(frozen=True)
class Bisect:
    """What to bisect, and where to keep the state.

    study: workloads, machine and design of every step; its variants are set here.
    threshold: by how many per cent a commit must be worse to be bad; None: half of the whole
        change, which must be above `LEAST_CHANGE`.
    folder: of the state of all bisections; each has a folder of its own there.
    """

    repository: Repository
    good: Commit
    bad: Commit
    study: Study
    threshold: float | None
    folder: Path
    ledger: Ledger
    events: Events

    def run(self) -> Found:
        """Go through to the first bad commit.

        Raises:
            UserError: the study cannot be made of the good revision.
            BuildFailed: the good revision does not build.
            KernsmithError: git cannot go on (the good revision is no ancestor of the bad one, and
                what both come from is bad); or a commit was not measured because a compiler or an
                emulator was killed, which decides nothing.
        """
        with locked(self.folder / "lock"):
            return self._run(_Kept(self.folder / "steps.jsonl"))

    def _run(self, kept: _Kept) -> Found:
        whole = kept.of(self.bad.id) or kept.add(self._whole())
        limit = self._limit(whole)
        if whole.decision != BAD:
            return self._found(whole, limit, (), (), "")
        bisection = Bisection(self.repository, self.folder / "repository")
        stands = bisection.start(self.bad.id, self.good.id)
        steps: list[StepView] = []
        while stands.commit:
            step = kept.of(stands.commit) or kept.add(self._step(stands, limit))
            steps.append(step)
            self.events.note(f"{_named(step.commit, step.subject)}: {step.decision}: {step.reason}")
            stands = bisection.decide(step.decision, step.commit)
        return self._found(whole, limit, tuple(steps), stands.first_bad, bisection.log)

    def _whole(self) -> StepView:
        def decide(look: Look, better: Better, last: bool) -> tuple[str, str] | None:
            limit = self._least(better)
            if limit.is_passed_by(look):
                return BAD, "worse than the good revision over layouts"
            narrow = 100 * (exp(look.high) - exp(look.low)) <= self.study.design.until
            if limit.is_kept_by(look) or narrow or last:
                return GOOD, "not worse than the good revision over layouts"
            return None

        self.events.note(f"is {_named(self.bad.id, self.bad.subject)} worse at all?")
        step = self._measure(self.bad, decide)
        if step.decision == SKIP:
            raise KernsmithError(f"the bad revision cannot be measured: {step.reason}")
        return step

    def _least(self, better: Better) -> Limit:
        """What the bad revision is held against."""
        worse_by = LEAST_CHANGE if self.threshold is None else self.threshold
        return Limit(worse_by if better == "lower" else -worse_by, better)

    def _limit(self, whole: StepView) -> Limit:
        """What every commit is held against."""
        better: Better = "higher" if whole.better == "higher" else "lower"
        if self.threshold is not None or whole.decision != BAD:
            return self._least(better)
        return Limit(_percent(log1p((whole.change or 0.0) / 100) / 2), better)

    def _step(self, stands: Next, limit: Limit) -> StepView:
        def decide(look: Look, better: Better, last: bool) -> tuple[str, str] | None:
            if limit.is_passed_by(look):
                return BAD, f"over layouts its change is {limit.worse_side} {limit.change:.2f} %"
            if limit.is_kept_by(look):
                return GOOD, f"over layouts its change is {limit.better_side} {limit.change:.2f} %"
            if last:
                return SKIP, f"too close to {limit.change:.2f} % to call after {look.n} layouts"
            return None

        commit = self.repository.commit(stands.commit)
        self.events.note(f"test {_named(commit.id, commit.subject)}, {stands.left} left after it")
        return self._measure(commit, decide)

    def _measure(self, commit: Commit, decide: Decide) -> StepView:
        """Compare a commit with the good one, with more and more layouts until it is decided."""
        study = self._pair(self.good, commit)

        def compare_in(layouts: int) -> StudyResult | StepView:
            try:
                prepared = prepare(study.with_layouts(layouts), self.events)
                return run_study(prepared, self.ledger, self.events, by_function=False)
            except (DiskFull, ProgramMissing):
                raise
            except UserError as error:
                if commit == self.bad:
                    raise
                return StepView(commit.id, commit.subject, SKIP, str(error))

        def decide_step(found: StudyResult | StepView, last: bool) -> StepView | None:
            if isinstance(found, StepView):
                return found
            name = found.prepared.variants[1].name
            ratios = overall_log_ratios(found.prepared, found.measured, name)
            if not ratios and found.of_host:
                raise KernsmithError(
                    f"{_named(commit.id, commit.subject)} was not measured for a reason that is "
                    f"this computer's: {in_a_line(found.of_host[0])}; start the same command again"
                )
            if not ratios:
                return StepView(commit.id, commit.subject, SKIP, _reason(found))
            look = look_at(ratios, alpha=study.design.alpha)
            decided = decide(look, direction_of_study(found.prepared), last)
            return _step(commit, decided, look, found) if decided else None

        design = study.design
        return grow(design.layouts, design.most_layouts, compare_in, decide_step, next_number)

    def _pair(self, one: Commit, other: Commit) -> Study:
        folder = self.repository.folder
        names = (_named(one.id, ""), _named(other.id, ""))
        sources = tuple(str(SourceWord("git", str(folder), commit.id)) for commit in (one, other))
        return replace(
            self.study,
            name=f"bisect-{names[1]}",
            source=sources[0],
            variants=tuple(
                (name, (("source", source),)) for name, source in zip(names, sources, strict=True)
            ),
            design=replace(self.study.design, until=0.0),
        )

    def _found(
        self,
        whole: StepView,
        limit: Limit,
        steps: tuple[StepView, ...],
        first_bad: tuple[str, ...],
        history: str,
    ) -> Found:
        commits = tuple(self.repository.commit(commit) for commit in first_bad)
        verdict = None
        if len(commits) == 1:
            self.events.note(f"first bad commit: {_named(commits[0].id, commits[0].subject)}")
            study = self._pair(self.repository.parent(commits[0].id), commits[0])
            study = replace(study, design=verdict_design(self.study.design, whole.layouts))
            verdict = run_study(prepare(study, self.events), self.ledger, self.events)
        asked = self.study
        machine = find_machine(asked.machine, asked.cpu, dict(asked.settings))
        return Found(
            self.good,
            self.bad,
            whole.metric,
            limit.change,
            whole,
            steps,
            commits,
            verdict,
            history,
            asked.cpu,
            held_in(asked, machine),
        )


def verdict_design(asked: Design, measured: int) -> Design:
    """Of the study of the first bad commit and its parent.

    Where figures decide how many layouts there are, those of the bad revision and then its own,
    the verdict is an always-valid one. Else their number is fixed in advance.

    asked: the bisection's. measured: in how many layouts the bad revision was.
    """
    if not asked.until or asked.layouts >= asked.most_layouts:
        return replace(asked, until=0.0)
    return replace(asked, layouts=max(asked.layouts, measured))


def bisect_key(good: Commit, bad: Commit, study: Study, threshold: float | None) -> str:
    """What tells one bisection from another: a word for a folder's name."""
    return digest_of([good.id, bad.id, study_digest(study, {}), threshold])[:8]


def bisect_document(found: Found) -> BisectDocument:
    """The result as a document (see docs/compare.md); the verdict's report is not in it yet."""
    return BisectDocument(
        good=_commit(found.good),
        bad=_commit(found.bad),
        metric=found.metric,
        threshold=found.threshold,
        whole=found.whole,
        steps=found.steps,
        first_bad=tuple(_commit(commit) for commit in found.first_bad),
        log=found.log,
        cpu=found.cpu,
        held=found.held,
    )


def _commit(commit: Commit) -> CommitView:
    return CommitView(**asdict(commit))


class _Kept:
    """Steps that are decided, one JSON object a line; a line that a kill cut off does not count."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._steps: dict[str, StepView] = {}
        for line in whole_lines(path):
            step = StepView(**json.loads(line))
            self._steps[step.commit] = step

    def of(self, commit: str) -> StepView | None:
        return self._steps.get(commit)

    def add(self, step: StepView) -> StepView:
        append_line(self._path, json.dumps(asdict(step), ensure_ascii=False))
        self._steps[step.commit] = step
        return step


def _named(commit: str, subject: str) -> str:
    return f"{commit[:_HASH_SHOWN]} {subject}".strip()


def _reason(result: StudyResult) -> str:
    """Why nothing could be measured: the first failure, on one line."""
    return in_a_line(result.failures[0] if result.failures else "nothing could be measured")


def _step(commit: Commit, decided: tuple[str, str], look: Look, result: StudyResult) -> StepView:
    name = result.prepared.variants[1].name
    measured = {verdict.metric for verdict in result.verdicts}
    metric = primary_metric(result.prepared.study.design, measured)
    primary = result.verdict(name, OVERALL, metric)
    instructions = result.verdict(name, OVERALL, INSTRUCTIONS)
    default = primary.default_ratio if primary else None
    bounds = [None if abs(bound) > log(1e6) else _percent(bound) for bound in (look.low, look.high)]
    return StepView(
        commit=commit.id,
        subject=commit.subject,
        decision=decided[0],
        reason=decided[1],
        change=_percent(look.mean),
        low=bounds[0],
        high=bounds[1],
        layouts=look.n,
        default_change=None if default is None else 100 * (default - 1),
        instructions_change=100 * (instructions.effect.ratio - 1) if instructions else None,
        metric=metric,
        better=direction_of_study(result.prepared),
    )


def _percent(shift: float) -> float:
    return 100 * (exp(shift) - 1)
