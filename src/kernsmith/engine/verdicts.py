# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs → verdicts: each variant against the baseline, over layouts, by workload and metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import Prepared
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import RunRow
from kernsmith.machine.metrics import MODEL_CYCLES, SECONDS, in_order
from kernsmith.stats.effect import Effect, overall_effect, paired_effect, unpaired_effect
from kernsmith.stats.sequential import Decision, decide
from kernsmith.study import Design, Trial, Variant

OVERALL = "overall"
TRAINED = "overall-trained"
HELD_OUT = "overall-held-out"


@dataclass(frozen=True)
class Measured:
    """A trial with its run; None when there is none."""

    trial: Trial
    digest: str
    run: RunRow | None


@dataclass(frozen=True)
class Verdict:
    """The effect of a variant on one metric of one workload, or of the mix of all.

    workload: its name, or `overall`, `overall-trained`, `overall-held-out`.
    default_ratio: of the default layouts: what one would have got from one binary each.
    trained: whether the profile was trained on this workload; None for mixes.
    """

    variant: str
    workload: str
    metric: str
    effect: Effect
    default_baseline: float | None
    default_treated: float | None
    trained: bool | None

    @property
    def default_ratio(self) -> float | None:
        """Treated / baseline in the default layouts."""
        if not self.default_baseline or self.default_treated is None:
            return None
        return self.default_treated / self.default_baseline


@dataclass(frozen=True)
class StudyResult:
    """All that came out of a study.

    kernels, profiles: by the name of the variant. failures: sentences.
    """

    prepared: Prepared
    measured: tuple[Measured, ...]
    verdicts: tuple[Verdict, ...]
    kernels: Mapping[str, Kernel]
    profiles: Mapping[str, tuple[Path, ...]]
    failures: tuple[str, ...]
    looks: Mapping[str, Decision]
    seconds: float

    def verdict(self, variant: str, workload: str, metric: str) -> Verdict | None:
        """One verdict, if it could be given."""
        key = (variant, workload, metric)
        return next((v for v in self.verdicts if (v.variant, v.workload, v.metric) == key), None)


# (workload, metric) → layout index (block for replicates of it) → values
Values = dict[tuple[str, str], dict[str, list[float]]]


def judge(
    prepared: Prepared, forge: Forge, measured: Sequence[Measured], seconds: float
) -> StudyResult:
    """Compare every variant with the first one."""
    baseline, *others = prepared.variants
    tables = {variant: layout_values(measured, variant) for variant in prepared.variants}
    verdicts: list[Verdict] = []
    for variant in others:
        verdicts += _compare(prepared, tables[baseline], tables[variant], baseline, variant)
    failures = [each.sentence for each in prepared.refused]
    failures += dict.fromkeys(forge.failures.values())
    for item in measured:
        if item.run is not None and not item.run.ok:
            trial, run = item.trial, item.run
            what = f"{trial.variant.name}, {trial.layout}, {trial.workload}"
            failures.append(f"{run.status}: {what}: {run.reason}; console: {run.console}")
    return StudyResult(
        prepared=prepared,
        measured=tuple(measured),
        verdicts=tuple(verdicts),
        kernels={v.name: k for v in prepared.variants if (k := forge.kernel(v))},
        profiles={v.name: p for v in prepared.variants if (p := forge.profile(v))},
        failures=tuple(failures),
        looks=look(prepared, measured),
        seconds=seconds,
    )


def look(prepared: Prepared, measured: Sequence[Measured]) -> dict[str, Decision]:
    """For a study that goes on until its interval is narrow: whether each variant may stop.

    The intervals are always valid (see `stats.sequential`): they hold whenever the study stops.
    Empty for a study with a fixed number of layouts.
    """
    design = prepared.study.design
    if not design.until:
        return {}
    decisions = {}
    for variant in prepared.variants[1:]:
        ratios = log_ratios(prepared, measured, variant)
        if not ratios:
            continue  # it could not be built or booted: more layouts are of no use
        # When all are planned there can be no more, even if runs have failed.
        all_planned = max(item.trial.layout_number for item in measured) >= design.most_layouts
        decisions[variant.name] = decide(
            ratios,
            width=design.until,
            most=len(ratios) if all_planned else design.most_layouts,
            alpha=design.alpha,
        )
    return decisions


def log_ratios(prepared: Prepared, measured: Sequence[Measured], variant: Variant) -> list[float]:
    """Of the study's own metric, variant / baseline: one mean over workloads a random layout.

    In the order of the layouts; empty when there is no layout in which all workloads ended well.
    """
    old, new = (layout_values(measured, each) for each in (prepared.variants[0], variant))
    both = {name for _, name in old} & {name for _, name in new}
    metric = primary_metric(prepared.study.design, both)
    sides = {
        workload.name: side
        for workload in prepared.workloads
        if (workload.name, metric) in old and (workload.name, metric) in new
        if (side := _sides(old[workload.name, metric], new[workload.name, metric]))
    }
    return _log_ratios(_common(sides)) if len(sides) == len(prepared.workloads) else []


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
    return design.metric or (MODEL_CYCLES if MODEL_CYCLES in measured else SECONDS)


def _log_ratios(sides: Mapping[str, Pairs]) -> list[float]:
    """Mean over workloads of the log ratio, for each layout; zeros are left out by adding 0.5."""
    if not sides:
        return []
    columns = []
    for old, new in sides.values():
        half = 0.5 if min(*old, *new) <= 0 else 0.0
        columns.append([log((b + half) / (a + half)) for a, b in zip(old, new, strict=True)])
    return [sum(row) / len(row) for row in zip(*columns, strict=True)]


def layout_values(measured: Sequence[Measured], variant: Variant) -> Values:
    """What a variant's runs measured; the default layout has the empty index."""
    values: Values = {}
    for item in measured:
        if item.trial.variant != variant or item.run is None or not item.run.ok:
            continue
        layout = _layout_index(item.trial)
        for metric, (value, _) in item.run.metrics.items():
            cell = values.setdefault((item.trial.workload, metric), {})
            cell.setdefault(layout, []).append(value)
    return values


def _layout_index(trial: Trial) -> str:
    """The layout's seed without the label: what pairs layouts of two variants."""
    return trial.layout.seed.removeprefix(f"{trial.variant.label}." if trial.variant.label else "")


def _compare(
    prepared: Prepared, old: Values, new: Values, baseline: Variant, variant: Variant
) -> list[Verdict]:
    paired = baseline.label == variant.label
    alpha = prepared.study.design.alpha
    workloads = [workload.name for workload in prepared.workloads]
    trained = {name for step in variant.steps for name in step.train}
    mixes = {OVERALL: workloads}
    if trained and set(workloads) - trained and set(workloads) & trained:
        mixes[TRAINED] = [name for name in workloads if name in trained]
        mixes[HELD_OUT] = [name for name in workloads if name not in trained]
    verdicts = []
    for metric in in_order({metric for _, metric in old} & {metric for _, metric in new}):
        sides = {
            name: side
            for name in workloads
            if (name, metric) in old and (name, metric) in new
            if (side := _sides(old[name, metric], new[name, metric])) is not None
        }
        for mix, names in mixes.items():
            common = _common({name: sides[name] for name in names if name in sides})
            if len(common) == len(names):
                defaults = _mean_default([sides[name].default for name in names])
                effect = overall_effect(common, paired, alpha=alpha)
                verdicts.append(Verdict(variant.name, mix, metric, effect, *defaults, None))
        for name, side in sides.items():
            compare = paired_effect if paired else unpaired_effect
            effect = compare(*side.values(side.layouts), alpha=alpha)
            is_trained = (name in trained) if trained else None
            verdicts.append(Verdict(variant.name, name, metric, effect, *side.default, is_trained))
    return verdicts


Pairs = tuple[list[float], list[float]]
Default = tuple[float | None, float | None]


@dataclass(frozen=True)
class _Sides:
    """One metric of one workload: values of both variants by layout, and in the default one."""

    old: Mapping[str, float]
    new: Mapping[str, float]
    default: Default

    @property
    def layouts(self) -> list[str]:
        return sorted(set(self.old) & set(self.new), key=_place)

    def values(self, layouts: Sequence[str]) -> Pairs:
        return [self.old[i] for i in layouts], [self.new[i] for i in layouts]


def _sides(old: Mapping[str, list[float]], new: Mapping[str, list[float]]) -> _Sides | None:
    """Both sides over random layouts; None when no layout was measured on both.

    A study without random layouts is judged by its default layouts: one value, no interval.
    """
    means = [{layout: _mean(values) for layout, values in side.items()} for side in (old, new)]
    default = (means[0].get(""), means[1].get(""))
    random = [{i: mean for i, mean in side.items() if i} or side for side in means]
    sides = _Sides(random[0], random[1], default)
    return sides if sides.layouts else None


def _place(layout: str) -> tuple[int, str]:
    """Sorts `1.9` before `1.10`: the order in which layouts were drawn."""
    return len(layout), layout


def _mean(values: Sequence[float]) -> float:
    """Geometric mean over replicates; the value itself when there is one."""
    if len(values) == 1 or min(values) <= 0:
        return sum(values) / len(values)
    return exp(sum(map(log, values)) / len(values))


def _common(sides: Mapping[str, _Sides]) -> dict[str, Pairs]:
    """Values of all workloads in the layouts that every one of them has, in one order."""
    if not sides:
        return {}
    shared = sorted(set.intersection(*(set(side.layouts) for side in sides.values())), key=_place)
    return {name: side.values(shared) for name, side in sides.items()} if shared else {}


def _mean_default(defaults: Sequence[Default]) -> Default:
    """Geometric means over workloads of both sides, where each workload has a figure above 0."""
    old = [a for a, _ in defaults if a]
    new = [b for _, b in defaults if b]
    if len(old) < len(defaults) or len(new) < len(defaults):
        return None, None
    return _mean(old), _mean(new)
