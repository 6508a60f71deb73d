# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result as a document: what JSON, Markdown, pages and tables are views of."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from math import exp, isfinite

from kernsmith import __version__
from kernsmith.document import (
    CheckedView,
    CheckView,
    FactorsView,
    HeldView,
    LevelView,
    LookView,
    MachineView,
    MetricView,
    RunView,
    SourceView,
    StepTimeView,
    StudyDocument,
    StudyView,
    TermView,
    VariantView,
    VerdictView,
    WorkloadView,
)
from kernsmith.document.factors import Bounds
from kernsmith.document.study import INSTRUCTIONS, MODEL_CYCLES, sample_of
from kernsmith.engine.absent import not_measured
from kernsmith.engine.asked_metric import own_metrics
from kernsmith.engine.attribution import attributions
from kernsmith.engine.checks import Check
from kernsmith.engine.disturbances import find_disturbances
from kernsmith.engine.held import held_in
from kernsmith.engine.hottest import find_hottest
from kernsmith.engine.luck import find_luck, find_mixes
from kernsmith.engine.noise import find_noise
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.stress import find_stress
from kernsmith.engine.text_ends import find_text_ends
from kernsmith.engine.verdicts import Measured, StudyResult, primary_metric
from kernsmith.kernel.package import package_command
from kernsmith.ledger.rows import REPLAYED_FROM
from kernsmith.machine.metrics import metric
from kernsmith.report.sentences import decision_sentence, verdict_sentence
from kernsmith.report.study.luck import luck_sentence
from kernsmith.stats.blocks import BlockRow
from kernsmith.stats.design import FactorAnalysis
from kernsmith.stats.sequential import Decision
from kernsmith.stats.verdict import Verdict
from kernsmith.study import Variant
from kernsmith.study.writing import write_study


def study_document(result: StudyResult) -> StudyDocument:
    """The whole result."""
    prepared, study = result.prepared, result.prepared.study
    trained = {name for v in prepared.variants for step in v.steps for name in step.train}
    measured = {name for item in result.measured if item.run for name in item.run.metrics}
    held = held_in(study, prepared.machine)
    document = StudyDocument(
        kernsmith=__version__,
        study=StudyView(
            name=study.name,
            digest=prepared.digest,
            alpha=study.design.alpha,
            metric=primary_metric(study.design, measured),
            text=write_study(study),
        ),
        source=_source(prepared, prepared.variants[0]),
        machine=MachineView(
            name=study.machine,
            cpu=study.cpu,
            exact=prepared.machine.exact,
            conditions=dict(prepared.machine.fingerprint()),
            assumptions=prepared.machine.assumptions,
            held=held,
        ),
        metrics=tuple(MetricView(**asdict(each)) for each in prepared.metrics),
        workloads=tuple(
            WorkloadView(w.name, w.description, w.rounds, w.name in trained, w.operations, w.unit)
            for w in prepared.workloads
        ),
        variants=tuple(_variant(result, variant) for variant in prepared.variants),
        verdicts=tuple(_verdict(prepared, verdict, held) for verdict in result.verdicts),
        factors=tuple(_factors(each) for each in result.factors),
        runs=tuple(_run(item) for item in result.measured),
        sequential=tuple(_look(name, decision) for name, decision in result.looks.items()),
        failures=tuple(result.failures),
        seconds=result.seconds,
        steps=tuple(StepTimeView(*each) for each in result.steps),
        checks=tuple(_check(each) for each in result.checks),
        boots=result.prepared.study.design.boots,
        every=max((_every(item) for item in result.measured), default=1),
        hottest=find_hottest(result),
        attributions=attributions(result),
        remarks=(*prepared.remarks, *not_measured(result.measured)),
    )
    stress = find_stress(result, document.runs, document.study.metric)
    noise = find_noise(document.runs, "" if document.machine.exact else document.study.metric)
    disturbed = find_disturbances(result, document.study.metric)
    ends = find_text_ends(result.kernels, document.baseline, document.verdicts)
    document = replace(document, stress=stress, noise=noise, disturbances=disturbed, text_ends=ends)
    return with_luck(document)


def with_luck(document: StudyDocument) -> StudyDocument:
    """The document with what its runs tell about layouts; also one that was read and lacks it."""
    names = [workload.name for workload in document.workloads]
    metrics = list(dict.fromkeys((document.study.metric, INSTRUCTIONS)))
    mixes = find_mixes(document.runs, names, metrics)
    in_words = partial(luck_sentence, boots=document.boots)
    luck = find_luck(document.verdicts, mixes, document.study.metric, in_words)
    return replace(document, mixes=mixes, luck=luck)


def _bounds(ends: tuple[float, float] | None) -> Bounds | None:
    """An end that is infinite is none."""
    if ends is None:
        return None
    low, high = (end if isfinite(end) else None for end in ends)
    return low, high


def _look(variant: str, decision: Decision) -> LookView:
    look = decision.look
    bounded = isfinite(look.low + look.high)
    return LookView(
        variant=variant,
        reached=decision.reached,
        n=look.n,
        ratio=exp(look.mean),
        ci=(exp(look.low), exp(look.high)) if bounded else None,
        p=look.p,
        sentence=decision_sentence(decision),
    )


def _variant(result: StudyResult, variant: Variant) -> VariantView:
    kernel = result.kernels.get(variant.name)
    profile = result.profiles.get(variant.name, ())
    return VariantView(
        name=variant.name,
        baseline=variant == result.prepared.variants[0],
        levels=dict(variant.levels),
        source=_source(result.prepared, variant),
        vmlinux=str(kernel.vmlinux) if kernel else None,
        bzimage=str(kernel.bzimage) if kernel and not kernel.program else None,
        profile=str(profile[0]) if profile else None,
        provenance=kernel.provenance if kernel else None,
        package_command=package_command(kernel) if kernel and not kernel.program else None,
    )


def _source(prepared: Prepared, variant: Variant) -> SourceView:
    source = prepared.source_of(variant)
    return SourceView(
        use=variant.source,
        name=source.name,
        version=source.version,
        digest=source.digest,
        origin=source.origin,
    )


def _verdict(prepared: Prepared, verdict: Verdict, held: HeldView | None) -> VerdictView:
    effect = verdict.effect
    of_one = [each for each in prepared.workloads if each.name == verdict.workload]
    own = own_metrics(prepared.study, of_one)
    listed = {each.name: each for each in (*prepared.metrics, *own)}
    known = listed.get(verdict.metric) or metric(verdict.metric)
    return VerdictView(
        variant=verdict.variant,
        workload=verdict.workload,
        metric=verdict.metric,
        unit=known.unit,
        ratio=effect.ratio,
        ci=_bounds(effect.ci),
        p=effect.p,
        n=effect.n,
        layout_share=effect.layout_share,
        family=verdict.family,
        tests=verdict.tests,
        p_corrected=verdict.p_corrected,
        ci_corrected=_bounds(verdict.ci_corrected),
        always_valid=verdict.always_valid,
        significant=verdict.significant,
        half_added=effect.half_added,
        default_ratio=verdict.default_ratio,
        default_baseline=verdict.default_baseline,
        default_treated=verdict.default_treated,
        trained=verdict.trained,
        sentence=verdict_sentence(verdict, known.better, sample_of(prepared.study.design.boots)),
        model_points=held.ratio_points if held and verdict.metric == MODEL_CYCLES else None,
    )


def _factors(analysis: FactorAnalysis) -> FactorsView:
    return FactorsView(
        metric=analysis.metric,
        factors=tuple(analysis.factors),
        layouts=analysis.layouts,
        left_out=tuple(analysis.left_out),
        terms=tuple(_term(row) for row in analysis.table),
        levels=tuple(
            LevelView(
                factor=each.factor,
                level=each.level,
                baseline=each.baseline,
                ratio=each.effect.ratio,
                ci=_bounds(each.effect.ci),
                p=each.effect.p,
                n=each.effect.n,
                p_corrected=each.p_corrected,
                significant=each.significant,
            )
            for each in analysis.levels
        ),
    )


def _term(row: BlockRow) -> TermView:
    figures = (row.sum_of_squares, row.error, row.f, row.p, row.omega_squared, row.p_corrected)
    squares, error, f, p, omega, corrected = (each if isfinite(each) else None for each in figures)
    return TermView(row.term, row.df, squares, row.df_error, error, f, p, omega, corrected)


def _every(item: Measured) -> int:
    """One of how many windows of its trace a run was replayed from."""
    source = item.run.provenance.get(REPLAYED_FROM, {}) if item.run else {}
    every: int = source.get("every", 1)
    return every


def _run(item: Measured) -> RunView:
    trial, run = item.trial, item.run
    return RunView(
        position=trial.position,
        block=trial.block,
        variant=trial.variant.name,
        layout=str(trial.layout),
        workload=trial.workload,
        replicate=trial.replicate,
        trial=item.digest,
        status=run.status if run else "none",
        started_at=run.started_at if run else None,
        console=run.console if run else None,
        metrics={name: value for name, (value, _) in run.metrics.items()} if run else {},
        replayed=item.replayed,
    )


def _check(check: Check) -> CheckView:
    whole = check.whole
    figures = (whole.predicted, whole.measured, whole.error, whole.more, whole.error_each)
    predicted, measured, error, more, error_each = (
        each if isfinite(each) else None for each in figures
    )
    return CheckView(
        variant=check.variant,
        layout=check.layout,
        predicted=predicted,
        measured=measured,
        error=error,
        limit=check.limit,
        luck=check.luck,
        holds=check.holds,
        workloads=tuple(
            CheckedView(name, one.predicted, one.measured, one.error, one.more, one.error_each)
            for name, one in check.workloads.items()
        ),
        more=more,
        error_each=error_each,
        note=check.note,
    )
