# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs → observations, and what a study asks of them: `stats.study` judges."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernsmith.engine.checks import Check, Replicated, find_checks
from kernsmith.engine.prepare import Prepared
from kernsmith.errors import UserError
from kernsmith.guest.own_metric import Better
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import RunRow
from kernsmith.machine.console import with_console
from kernsmith.machine.metrics import (
    CORE_CYCLES,
    METRICS,
    MODEL_CYCLES,
    REFERENCE_CYCLES,
    SECONDS,
    in_order,
)
from kernsmith.machine.metrics import metric as catalogued
from kernsmith.stats.design import FactorAnalysis
from kernsmith.stats.observations import DEFAULT_LAYOUT, Observation
from kernsmith.stats.question import Question
from kernsmith.stats.sequential import Decision, decide
from kernsmith.stats.study import judge as judge_observations
from kernsmith.stats.study import log_ratios
from kernsmith.stats.verdict import Verdict
from kernsmith.study import Design, Trial, Variant
from kernsmith.study.factors.train import ALL
from kernsmith.study.factors.train import FACTOR as TRAIN_FACTOR
from kernsmith.study.variant import HELD_OUT

# Two labels have layouts of their own: more blocks of the same combination, and no factor.
LABEL = "label"


@dataclass(frozen=True)
class Measured:
    """A trial with its run; None when there is none.

    replayed: the run is, or would be, a replay. booted: the run that booted the same layout, to
        check that. traced: the run that wrote the trace, in the default layout.
    """

    trial: Trial
    digest: str
    run: RunRow | None
    replayed: bool = False
    booted: RunRow | None = None
    traced: RunRow | None = None


@dataclass(frozen=True)
class StudyResult:
    """All that came out of a study.

    factors: one analysis of the whole design a primary metric; empty for fewer than two factors.
    kernels, profiles: by the name of the variant. failures: sentences.
    checks: replayed layouts that were booted, too.
    of_host: the failures of which this computer is the reason, and not what failed.
    steps: what was done, and how many seconds each took; what was done beside is not told.
    """

    prepared: Prepared
    measured: tuple[Measured, ...]
    verdicts: tuple[Verdict, ...]
    factors: tuple[FactorAnalysis, ...]
    kernels: Mapping[str, Kernel]
    profiles: Mapping[str, tuple[Path, ...]]
    failures: tuple[str, ...]
    looks: Mapping[str, Decision]
    seconds: float
    checks: tuple[Check, ...] = ()
    of_host: tuple[str, ...] = ()
    steps: tuple[tuple[str, float], ...] = ()

    def verdict(self, variant: str, workload: str, metric: str) -> Verdict | None:
        """One verdict, if it could be given."""
        key = (variant, workload, metric)
        return next((v for v in self.verdicts if (v.variant, v.workload, v.metric) == key), None)


class Kernels(Protocol):
    """What became of a study's variants. failures: what could not be made, with the reason."""

    @property
    def failures(self) -> Mapping[tuple[str, str], str]: ...

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant, if there is one."""
        ...

    def profile(self, variant: Variant) -> tuple[Path, ...]:
        """The files of the profile that the last step of a variant was built with."""
        ...


def in_a_line(failure: str) -> str:
    """What a failure says first, without the logs that stand below it."""
    lines = [line.strip() for line in failure.strip().splitlines()]
    return " ".join(lines[:2] if lines[0].endswith(":") else lines[:1])


def judge(
    prepared: Prepared, forge: Kernels, measured: Sequence[Measured], seconds: float
) -> StudyResult:
    """Compare every variant with the first one."""
    rows = observations(measured, prepared.study.design)
    found = judge_observations(rows, question(prepared, measured))
    failures = [each.sentence for each in prepared.refused]
    failures += dict.fromkeys(forge.failures.values())
    for item in measured:
        if item.run is not None and not item.run.ok:
            trial, run = item.trial, item.run
            what = f"{trial.variant.name}, {trial.layout}, {trial.workload}"
            failures.append(f"{run.status}: {what}: {with_console(run.reason, Path(run.console))}")
    checks = find_checks(
        [
            Replicated(each.trial, each.run, each.booted, each.traced)
            for variant in prepared.variants
            for each in measured
            if each.trial.variant == variant and each.replayed and each.run is not None
        ]
    )
    failures += [check.sentence for check in checks if not check.holds]
    return StudyResult(
        prepared=prepared,
        measured=tuple(measured),
        verdicts=found.verdicts,
        factors=found.factors,
        kernels={v.name: k for v in prepared.variants if (k := forge.kernel(v))},
        profiles={v.name: p for v in prepared.variants if (p := forge.profile(v))},
        failures=tuple(failures),
        looks=look(prepared, measured),
        seconds=seconds,
        checks=checks,
    )


def observations(measured: Sequence[Measured], design: Design) -> list[Observation]:
    """Each metric of each run that ended well.

    A run that has several places in the plan of a variant (replicates on an exact machine are one
    trial) is one observation.
    """
    found: dict[tuple[str, str], tuple[Trial, RunRow]] = {}
    folded = {item.trial.variant.judged_as for item in measured if item.trial.variant.without}
    for item in measured:
        if item.run is not None and item.run.ok:
            for name in _judged_as(item.trial, folded):
                found.setdefault((name, item.digest), (item.trial, item.run))
    return [
        Observation(
            variant=name,
            layout=at.unit,
            workload=trial.workload,
            boot=at.boot,
            run=at.run,
            block=trial.block,
            metric=metric,
            value=value,
        )
        for (name, _), (trial, run) in found.items()
        for at in (nested(trial, run, design),)
        for metric, (value, _) in run.metrics.items()
    ]


@dataclass(frozen=True)
class Nested:
    """Where a run is nested: the unit of the sample, the boot in it, and which run of this boot."""

    unit: str
    boot: str
    run: int


def nested(trial: Trial, run: RunRow, design: Design) -> Nested:
    """Where a trial's run is nested.

    The unit is the draw; or the boot, where layouts are dealt out to several: those of one boot
    share its luck, and are no sample of boots. A draw of two levels of the factor `layout`, or a
    boot of two kernels, is a pair; those of two labels are none. Runs of before boots were recorded
    booted each by itself.
    """
    if trial.layout.seed and design.boots > 1:
        label, _, _ = trial.layout.seed.rpartition(f"{design.seed}.")
        boot = f"{label}boot-{trial.boot}"
        return Nested(boot, boot, trial.layout_number)
    boot = run.trial if run.boot is None else str(run.boot)
    return Nested(trial.layout.seed or DEFAULT_LAYOUT, boot, trial.replicate)


def _judged_as(trial: Trial, folded: Collection[str]) -> list[str]:
    """For which variants of a question a run speaks.

    folded: names of those whose figures come from several kernels, none trained on what it is
        judged by. A workload that no kernel was trained on is judged by the one that was trained
        on all the others.
    """
    variant = trial.variant
    held_out = f"{variant.name}{HELD_OUT}"
    if held_out in folded and trial.workload not in _trained(variant):
        return [variant.judged_as, held_out]
    return [variant.judged_as]


def _trained(variant: Variant) -> frozenset[str]:
    return frozenset(name for step in variant.steps for name in step.train)


def _specialities(prepared: Prepared) -> dict[str, tuple[str, ...]]:
    """The measured workloads of each level of the factor `train` that kernels were made for."""
    measured = [workload.name for workload in prepared.workloads]
    own = {
        dict(variant.levels).get(TRAIN_FACTOR.name, ALL): _trained(variant)
        for variant in prepared.variants
        if _trained(variant) and not variant.without
    }
    found = {level: tuple(n for n in measured if n in names) for level, names in own.items()}
    return {level: names for level, names in found.items() if names and level != ALL}


def question(prepared: Prepared, measured: Sequence[Measured]) -> Question:
    """What a study asks: of all that its machine measured.

    The primary family are the headline metrics and the one that the study is about.
    """
    study = prepared.study
    metrics = {m for item in measured if item.run and item.run.ok for m in item.run.metrics}
    headlines = {metric.name for metric in METRICS if metric.headline}
    return Question(
        variants=tuple(dict.fromkeys(variant.judged_as for variant in prepared.variants)),
        workloads=tuple(workload.name for workload in prepared.workloads),
        metrics=tuple(in_order(metrics)),
        primary=frozenset({*headlines, primary_metric(study.design, metrics)}),
        alpha=study.design.alpha,
        looked_at=study.design.until > 0,
        trained={
            v.judged_as: frozenset() if v.without else _trained(v)
            for v in prepared.variants
            if _trained(v)
        },
        specialities=_specialities(prepared),
        factors=tuple(
            (name, levels) for name, levels in study.factors if len(levels) > 1 and name != LABEL
        ),
        levels={v.name: v.levels for v in prepared.variants if not v.without},
    )


def look(prepared: Prepared, measured: Sequence[Measured]) -> dict[str, Decision]:
    """For a study that goes on until its interval is narrow: whether each variant may stop.

    The intervals are always valid (see `stats.sequential`): they hold whenever the study stops.
    Empty for a study with a fixed number of layouts.
    """
    design = prepared.study.design
    if not design.until:
        return {}
    asked = question(prepared, measured)
    decisions = {}
    for variant in asked.variants[1:]:
        ratios = overall_log_ratios(prepared, measured, variant)
        if not ratios:
            continue  # it could not be built or booted: more layouts are of no use
        # When all are planned there can be no more, even if runs have failed.
        all_planned = max(item.trial.layout_number for item in measured) >= design.most_layouts
        decisions[variant] = decide(
            ratios,
            width=design.until,
            most=len(ratios) if all_planned else design.most_layouts,
            alpha=design.alpha,
            tests=asked.tests,
        )
    return decisions


def overall_log_ratios(prepared: Prepared, measured: Sequence[Measured], name: str) -> list[float]:
    """Of the study's own metric over the whole mix: see `stats.study.log_ratios`."""
    asked = question(prepared, measured)
    metric = primary_metric(prepared.study.design, asked.metrics)
    return log_ratios(observations(measured, prepared.study.design), metric, asked, name)


def primary_metric(design: Design, measured: Collection[str]) -> str:
    """The metric that a study is about.

    Raises:
        UserError: it asks for one that its machine does not measure.
    """
    if design.metric and measured and design.metric not in measured:
        raise UserError(
            f"the machine does not measure {design.metric}; it measures "
            f"{', '.join(in_order(set(measured)))}"
        )
    usual = (name for name in (MODEL_CYCLES, CORE_CYCLES, REFERENCE_CYCLES) if name in measured)
    return design.metric or next(usual, SECONDS)


def direction_of_study(prepared: Prepared) -> Better:
    """Whether less or more of the metric that a study is about is better."""
    listed = {metric.name: metric for metric in prepared.metrics}
    name = primary_metric(prepared.study.design, listed)
    return (listed.get(name) or catalogued(name)).better
