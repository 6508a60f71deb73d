# SPDX-License-Identifier: GPL-2.0-or-later
"""The second machine of a study on two, as a part of its document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from kernsmith.document import ComparedView, PairView, RanksView, StudyDocument, VerdictView
from kernsmith.document.factors import Bounds
from kernsmith.document.study import OVERALL
from kernsmith.engine.verdicts import StudyResult, observations
from kernsmith.report.study.document import study_document
from kernsmith.report.study.noise import noise_lines
from kernsmith.stats.machines import (
    Compared,
    Ranks,
    Side,
    compare_machines,
    rank_layouts,
    rank_workloads,
    side_of,
)
from kernsmith.study import Study
from kernsmith.study.writing import write_study

_By = Mapping[tuple[str, str], VerdictView]


def pair_document(study: Study, first: StudyResult, second: StudyResult) -> StudyDocument:
    """The document of the first machine's result, with the second one beside it.

    study: the one on both, whose words repeat it.
    """
    own, other = study_document(first), study_document(second)
    text = replace(own.study, name=study.name, text=write_study(study))
    seconds, steps = (own.seconds or 0.0) + (other.seconds or 0.0), (*own.steps, *other.steps)
    own = replace(own, study=text, seconds=seconds, steps=steps)
    sides = [
        side_of(
            observations(result.measured, result.prepared.study.design),
            document.study.metric,
            exact=document.machine.exact,
        )
        for result, document in ((first, own), (second, other))
    ]
    compared: tuple[ComparedView, ...] = ()
    ranks: tuple[RanksView, ...] = ()
    if sides[0] is not None and sides[1] is not None:
        compared = _compared(own, other, sides[0], sides[1])
        ranks = _ranks(own, other, sides[0], sides[1])
    differing = [
        f"{name}: the machines measured different kernels"
        for name, kernel in first.kernels.items()
        if name in second.kernels and second.kernels[name].key != kernel.key
    ]
    pair = PairView(
        machine=other.machine,
        metric=other.study.metric,
        metrics=other.metrics,
        verdicts=other.verdicts,
        runs=other.runs,
        remarks=(
            *(each for each in other.remarks if each not in own.remarks),
            *(f"on {other.machine.name}: {line}" for line in noise_lines(other)),
        ),
        failures=other.failures,
        compared=compared,
        ranks=ranks,
    )
    beside = [f"on {other.machine.name}: {each}" for each in other.failures]
    return replace(own, pair=pair, failures=(*own.failures, *beside, *differing))


def _by_cell(document: StudyDocument) -> _By:
    metric = document.study.metric
    return {(v.variant, v.workload): v for v in document.verdicts if v.metric == metric}


def _names(document: StudyDocument) -> tuple[list[str], list[str]]:
    return [document.baseline, *document.others], [each.name for each in document.workloads]


def _compared(
    own: StudyDocument, other: StudyDocument, first: Side, second: Side
) -> tuple[ComparedView, ...]:
    verdicts = _by_cell(own), _by_cell(other)
    found = compare_machines(first, second, *_names(own), own.study.alpha)
    return tuple(
        _view(each, verdicts[0][key], verdicts[1][key], (own, other))
        for each in found
        if (key := (each.variant, each.workload)) in verdicts[0] and key in verdicts[1]
    )


def _view(
    compared: Compared,
    first: VerdictView,
    second: VerdictView,
    documents: tuple[StudyDocument, StudyDocument],
) -> ComparedView:
    effect = compared.effect
    return ComparedView(
        variant=compared.variant,
        workload=compared.workload,
        first=first.ratio,
        first_ci=first.ci,
        second=second.ratio,
        second_ci=second.ci,
        ratio=effect.ratio,
        ci=_bounds(effect.ci),
        p=effect.p,
        p_corrected=compared.p_corrected,
        n=effect.n,
        disagree=compared.disagree,
        sentence=_sentence(compared, first, second, documents),
    )


def _sentence(
    compared: Compared,
    first: VerdictView,
    second: VerdictView,
    documents: tuple[StudyDocument, StudyDocument],
) -> str:
    """Both ratios, and whether one of the machines says more."""
    names = [document.machine.name for document in documents]
    ratios = " and ".join(
        f"{verdict.ratio:.4f} in {verdict.metric} on {name}"
        for verdict, name in zip((first, second), names, strict=True)
    )
    where = "over all workloads" if compared.workload == OVERALL else f"on {compared.workload}"
    apart = f"{names[1]} / {names[0]} {compared.effect.ratio:.4f}"
    if compared.p_corrected is None:
        return f"{where} {ratios}: {apart}, from one layout, which has no interval"
    sure = f"{apart}, corrected p = {compared.p_corrected:.2g}"
    if not compared.disagree:
        return f"{where} {ratios}: no difference between the machines to be seen ({sure})"
    opposite = (first.ratio - 1) * (second.ratio - 1) < 0
    if opposite and first.significant and second.significant:
        return f"{where} {ratios}: the machines say the opposite ({sure})"
    return f"{where} {ratios}: the machines differ ({sure})"


def _ranks(
    own: StudyDocument, other: StudyDocument, first: Side, second: Side
) -> tuple[RanksView, ...]:
    variants, workloads = _names(own)
    found = list(rank_layouts(first, second, variants, workloads, own.study.alpha))
    for variant in own.others:
        ratios = [
            {w: v.ratio for (name, w), v in _by_cell(each).items() if name == variant and not v.mix}
            for each in (own, other)
        ]
        ranked = rank_workloads(ratios[0], ratios[1], variant, own.study.alpha)
        if ranked is not None:
            found.append(ranked)
    return tuple(map(_ranks_view, found))


def _ranks_view(ranks: Ranks) -> RanksView:
    return RanksView(
        ranks.of, ranks.variant, ranks.n, ranks.correlation, _bounds(ranks.ci), ranks.allowed
    )


def _bounds(ends: tuple[float, float] | None) -> Bounds | None:
    if ends is None:
        return None
    low, high = (end if isfinite(end) else None for end in ends)
    return low, high
