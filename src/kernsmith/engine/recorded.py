# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result from what the ledger holds of it: nothing is built, linked or booted."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kernsmith.engine.builds import FAILED, REFUSED
from kernsmith.engine.prepare import Prepared, Refused
from kernsmith.engine.verdicts import Measured, StudyResult, judge
from kernsmith.errors import KernsmithError, UserError
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel, stored_kernel
from kernsmith.kernel.source import Source
from kernsmith.ledger import RunRow
from kernsmith.ledger.table import PlannedRow, StudyTable
from kernsmith.machine import Machine, Session, find_machine
from kernsmith.machine.held import figures
from kernsmith.machine.metrics import in_order
from kernsmith.machine.metrics import metric as catalogued
from kernsmith.machine.models import model_path
from kernsmith.machine.protocol import Images, Metric
from kernsmith.study import Design, Study, Trial, Variant, plan_variants
from kernsmith.study.file import study_from_tables, variants_in
from kernsmith.study.folds import in_folds
from kernsmith.study.layout import read_layout


@dataclass(frozen=True)
class Asked:
    """What is to be judged otherwise than the study says.

    baseline: name of a variant; None: the study's first. alpha: None: the study's.
    metrics: all that is judged, the one that the result is about first; empty: all there are.
    """

    baseline: str | None = None
    alpha: float | None = None
    metrics: tuple[str, ...] = ()


def recorded_result(table: StudyTable, asked: Asked) -> StudyResult:
    """The result that the study's own run had, as far as the ledger and the store know it.

    The ledger does not know layouts that could not be linked, files of profiles, how long the
    command took, and where a source came from: that is what the study calls it. Files of the user's
    have short names there (`study.places`), so the digest is that of these words.

    Raises:
        UserError: no run of the baseline has finished, no such variant or metric, or the text is of
            another version and no baseline is named.
    """
    _check_metrics(table, asked.metrics)
    study, planned = _study(table, named=asked.baseline is not None)
    study = _as_measured(study, table)
    baseline = _baseline(table, asked, planned)
    names = dict.fromkeys(row.variant for row in table.plan)
    failed = {b.variant: b.reason for b in table.builds if b.status == FAILED}
    known = {variant.name: variant for variant in planned}
    shown = [v for v in planned if v.name in names or v.name in failed]
    shown += [_stand_in(name) for name in names if name not in known]
    variants = tuple(sorted(shown, key=lambda variant: variant.name != baseline))
    by_name = {variant.name: variant for variant in variants}
    design = replace(study.design, alpha=asked.alpha or study.design.alpha)
    if asked.metrics:
        design = replace(design, metric=asked.metrics[0])
    stored = Stored(
        {by_name[row.variant]: row.trial.kernel for row in table.plan},
        {(name, ""): failed[name] for name in by_name if name not in names},
    )
    machine = _machine(study, table)
    trials = tuple(_trial(row, by_name[row.variant], study) for row in table.plan)
    prepared = Prepared(
        study=replace(study, design=design),
        digest=study.digest,
        sources={variant.source: stored.source(variant) for variant in reversed(variants)},
        workloads=_workloads(table.plan, machine),
        train=(),
        machine=machine,
        trainer=machine,
        variants=variants,
        trials=trials,
        refused=tuple(
            Refused(known[b.variant], b.reason)
            for b in table.builds
            if b.status == REFUSED and b.variant in known and b.variant not in names
        ),
    )
    measured = [
        Measured(
            trial,
            row.trial.digest,
            _only(row.run, asked.metrics),
            row.trial.replayed,
            row.booted,
            row.traced,
        )
        for trial, row in zip(trials, table.plan, strict=True)
    ]
    return judge(prepared, stored, measured, 0.0)


def _study(table: StudyTable, *, named: bool) -> tuple[Study, tuple[Variant, ...]]:
    """The study in the recorded words, with the variants that these words mean.

    Words that name a compiler by the end of its path are no study that could be run: of those the
    design, the variants and their levels are taken. Of another version's words only the design is.
    """
    tables = tomllib.loads(table.text)
    with suppress(UserError):
        study = study_from_tables(tables, origin="its text", name=table.name)
        train, workloads = _names(study.train or study.workloads), _names(study.workloads)
        own = plan_variants(study, train, _names)
        return study, in_folds(own, study.folds, workloads)
    given = tables.get("design", {})
    design = Design(**{f.name: given[f.name] for f in fields(Design) if f.name in given})
    first = table.plan[0].trial
    study = Study("", "", (), machine=first.machine, cpu=first.cpu, design=design, name=table.name)
    try:
        factors, variants = variants_in(tables, origin="its text")
    except UserError as error:
        if not named:
            raise UserError(
                f"study {table.name}: {error}; name its baseline by --baseline"
            ) from None
        return study, ()
    planned = tuple(_stand_in(name, levels) for name, levels in variants)
    return replace(study, factors=factors), planned


def _as_measured(study: Study, table: StudyTable) -> Study:
    """Words of before layouts could be replayed do not say that they were booted."""
    replayed = any(row.trial.replayed for row in table.plan)
    return replace(study, design=replace(study.design, layouts_by="replay" if replayed else "boot"))


def _names(names: Sequence[str]) -> list[str]:
    """What a study's words for workloads mean; as they are, if the catalogue has changed."""
    with suppress(KernsmithError):
        return [workload.name for workload in load_catalogue().select(names)]
    return list(names)


def _stand_in(name: str, levels: tuple[tuple[str, str], ...] = ()) -> Variant:
    """For a variant of which nothing else is known."""
    return Variant("", "", label=name, levels=levels, given_name=name)


def _baseline(table: StudyTable, asked: Asked, planned: Sequence[Variant]) -> str:
    """The name of the variant that others are compared with: one with finished runs."""
    done = [row.variant for row in table.plan if row.run is not None and row.run.ok]
    measured = list(dict.fromkeys(done))
    names = ", ".join(measured)
    if asked.baseline is not None:
        if asked.baseline in measured:
            return asked.baseline
        raise UserError(
            f"study {table.name}: no variant is called {asked.baseline!r}; there are {names}"
        )
    if planned[0].name in measured:
        return planned[0].name
    raise UserError(
        f"study {table.name}: its baseline {planned[0].name!r} has no finished run; name another "
        f"by --baseline: {names}"
    )


def _check_metrics(table: StudyTable, metrics: Sequence[str]) -> None:
    if not table.units:
        raise UserError(
            f"no run of study {table.name} has finished yet: there is nothing to report"
        )
    for metric in metrics:
        if metric not in table.units:
            raise UserError(f"study {table.name}: no finished run has the metric {metric!r}")


def _only(run: RunRow | None, metrics: Sequence[str]) -> RunRow | None:
    if run is None or not metrics:
        return run
    kept = {name: value for name, value in run.metrics.items() if name in metrics}
    return replace(run, metrics=kept)


def _trial(row: PlannedRow, variant: Variant, study: Study) -> Trial:
    """Each replicate of each layout is a block (see `study.plan`), in which may be several runs."""
    number, replicate = divmod(row.block, study.design.replicates)
    if study.design.runs > 1:
        replicate = row.trial.replicate
    return Trial(
        variant=variant,
        layout=read_layout(row.trial.layout),
        workload=row.trial.workload,
        machine=row.trial.machine,
        cpu=row.trial.cpu,
        replicate=replicate,
        block=row.block,
        position=row.position,
        layout_number=number,
        boot=row.trial.conditions.get("boot", 0),
    )


def _workloads(plan: Sequence[PlannedRow], machine: Machine) -> tuple[Workload, ...]:
    """In the catalogue's order, with the amounts of work that were measured."""
    conditions = {row.trial.workload: row.trial.conditions for row in plan}
    known = {workload.name: workload for workload in machine.workloads}
    with suppress(KernsmithError):  # without a guest program there are no descriptions
        catalogue = load_catalogue().including(conditions, look_only=True)
        known |= {workload.name: workload for workload in catalogue.workloads}
    places = {name: place for place, name in enumerate(known)}
    found = [
        replace(
            known.get(name, Workload(name, (), "", 0, 0, ())),
            **{key: said[key] for key in ("rounds", "warmup") if key in said},
        )
        for name, said in conditions.items()
    ]
    return tuple(sorted(found, key=lambda workload: places.get(workload.name, len(places))))


def _machine(study: Study, table: StudyTable) -> Machine:
    conditions = table.plan[0].trial.conditions
    with suppress(KernsmithError):
        machine = find_machine(study.machine, study.cpu, dict(study.settings))
        # What is real was measured by the machine that there was: another may be here now.
        if machine.exact or dict(machine.fingerprint()) == conditions.get("machine"):
            return machine
    metrics = tuple(catalogued(name) for name in in_order(set(table.units)))
    return _Elsewhere(study.machine, conditions, metrics, cpu=_same_model(study.cpu, conditions))


def _same_model(cpu: str, conditions: Mapping[str, Any]) -> Path | None:
    """The file of the CPU model, if it still has the figures that the runs were simulated with.

    How far it is off a processor is said beside these figures: it is a fact of them, wherever they
    are told.
    """
    simulated = conditions.get("machine", {}).get("cpu")
    with suppress(UserError):
        path = model_path(cpu)
        known = figures(path)
        # Without [data] at the depth that follows none (`Tcg.fingerprint`).
        if simulated in (known, {key: known[key] for key in known if key != "data"}):
            return path
    return None


@dataclass(frozen=True)
class _Elsewhere:
    """A machine that cannot be opened here: what it measured is known, not what it presumes."""

    name: str
    conditions: Mapping[str, Any]
    metrics: tuple[Metric, ...]
    apart: bool = True
    together: bool = False
    images: Images = "kernel"
    workloads: tuple[Workload, ...] = ()
    profiles: bool = False
    cpu: Path | None = None
    slots: int = 1
    assumptions: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Trials of machines with noise name the study that they belong to."""
        return self.conditions.get("study") is None

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.conditions.get("machine", {})
        return found

    def open(self, image: Path, folder: Path) -> AbstractContextManager[Session]:
        raise UserError(f"the machine {self.name} cannot be opened here")


@dataclass(frozen=True)
class Stored:
    """The kernels of a study, where the store still holds them."""

    keys: Mapping[Variant, str]
    failures: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def kernel(self, variant: Variant) -> Kernel | None:
        key = self.keys.get(variant)
        return stored_kernel(key) if key else None

    def profile(self, variant: Variant) -> tuple[Path, ...]:
        return ()

    def source(self, variant: Variant) -> Source:
        kernel, word = self.kernel(variant), variant.source
        of_kernel = kernel.provenance["source"] if kernel else {}
        return Source(
            of_kernel.get("name", word), Path(), of_kernel.get("version", ""),
            of_kernel.get("digest", ""), word,
        )  # fmt: skip
