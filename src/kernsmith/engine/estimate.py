# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study would do and how long it would take, without doing it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from kernsmith import paths
from kernsmith.engine.build_plan import identity, plan_kernels
from kernsmith.engine.events import Events
from kernsmith.engine.maker import Maker, open_maker
from kernsmith.engine.prepare import Prepared, prepare
from kernsmith.engine.spending import Wanted, what_to_spend
from kernsmith.engine.trial_rows import CHECKED, Rows, checking_rows, trial_rows
from kernsmith.engine.trials import finished_trials
from kernsmith.engine.workers import LocalWorkers
from kernsmith.kernel.link_map import link_map_path
from kernsmith.ledger import Ledger
from kernsmith.study import Layout, Study, Trial, Variant
from kernsmith.study.steps import find_step_kind

# Used until there is history; measured on 2 cores.
_SECONDS_AN_OBJECT = 0.5
_SECONDS_A_KNOWN_OBJECT = 0.1  # most of which ccache has
_SECONDS_A_TRIAL = 6.0
_SECONDS_A_REPLAY = 0.2
_SECONDS_A_LINK = 6.0
_DEFAULT_OBJECTS = 1800

FORMAT = "kernsmith-plan"
VERSION = 1


def estimate(
    study: Study, ledger: Ledger, events: Events, wanted: Wanted | None = None
) -> dict[str, Any]:
    """The plan as a JSON-able document: builds, training, links, trials in order, seconds.

    wanted: also tell, as `spending`, what to spend on it (see `engine.spending`).

    What the caches and the ledger hold already is marked and costs nothing. Nothing that the study
    names is run.

    Raises:
        UserError: a word of the study means nothing; or something is wanted of it, and nothing was
            measured yet.
    """
    prepared = prepare(study, events, look_only=True)
    forge = open_maker(prepared, events)
    links = forge.find()
    rows = trial_rows(prepared, forge)
    done = finished_trials(rows, prepared.machine, ledger)
    builds = _builds(prepared, forge)
    training = _training(prepared, forge)
    left = _left(prepared, rows, done, ledger)
    links += _maps(forge, left.replays)
    typical, seconds = _seconds(prepared, left, training, ledger)
    parts = {
        "builds": sum(build["seconds"] for build in builds),
        "links": links * _SECONDS_A_LINK / LocalWorkers().slots,
        **seconds,
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "study": study.name,
        "refused": [
            {"variant": each.variant.name, "reason": each.reason} for each in prepared.refused
        ],
        "not_checked": list(prepared.not_checked),
        "remarks": list(prepared.remarks),
        "builds": builds,
        "training": training,
        "links": links,
        "trials": [
            _trial(trial) | {"done": trial in done, "replayed": _replayed(prepared, trial)}
            for trial in prepared.trials
        ],
        "boots": {
            "trials": len(left.boots),
            "traces": len(left.traces),
            "checks": len(left.checks),
        },
        "replays": len(left.replays),
        "seconds": parts | {"total": sum(parts.values())},
        "history": typical,
    } | ({"spending": what_to_spend(prepared, rows, ledger, wanted)} if wanted else {})


@dataclass(frozen=True)
class _Left:
    """Trials without a run. traces: a trial for each boot that does nothing but write a trace;
    checks: replayed ones that are still to be booted, too."""

    boots: tuple[Trial, ...]
    replays: tuple[Trial, ...]
    traces: tuple[Trial, ...]
    checks: tuple[Trial, ...]


def _left(prepared: Prepared, rows: Rows, done: Collection[Trial], ledger: Ledger) -> _Left:
    left = [trial for trial in prepared.trials if trial not in done]
    boots = tuple(trial for trial in left if not _replayed(prepared, trial))
    replays = tuple(trial for trial in left if _replayed(prepared, trial))
    traces = _traces(prepared, replays, boots)
    return _Left(boots, replays, traces, _checks(prepared, rows, ledger))


def _seconds(
    prepared: Prepared, left: _Left, training: Sequence[str], ledger: Ledger
) -> tuple[bool, dict[str, float]]:
    """Whether the ledger has seen such boots, and the expected time of boots and replays."""
    booted = ledger.typical_seconds(prepared.machine.name)
    replayed = ledger.typical_seconds(prepared.machine.name, replayed=True)

    def total(workloads: Iterable[str], typical: Mapping[str, float], usual: float) -> float:
        usual = mean(typical.values()) if typical else usual
        return sum(typical.get(workload, usual) for workload in workloads)

    boots = [trial.workload for trial in (*left.boots, *left.traces, *left.checks)]
    replays = [trial.workload for trial in left.replays]
    slots = prepared.machine.slots
    return bool(booted), {
        "training": total(training, booted, _SECONDS_A_TRIAL) / prepared.trainer.slots,
        "trials": total(boots, booted, _SECONDS_A_TRIAL) / slots,
        "replays": total(replays, replayed, _SECONDS_A_REPLAY) / slots,
    }


def _replayed(prepared: Prepared, trial: Trial) -> bool:
    return prepared.study.design.replays(trial.layout)


def _checks(prepared: Prepared, rows: Rows, ledger: Ledger) -> tuple[Trial, ...]:
    """Replayed trials whose layouts will be booted, too."""
    known = finished_trials(checking_rows(rows), prepared.machine, ledger)
    checked = (t for t in prepared.trials if _replayed(prepared, t) and t.layout_number <= CHECKED)
    return tuple(trial for trial in checked if trial not in known)


def _traces(
    prepared: Prepared, replays: Iterable[Trial], boots: Iterable[Trial]
) -> tuple[Trial, ...]:
    """One trial for each boot that does nothing but write a trace.

    Else the boot of the default layout does, which is a trial itself.
    """

    def place(trial: Trial) -> tuple[str, str, int]:
        return identity(trial.variant), trial.workload, trial.boot

    planned = {place(trial) for trial in boots if trial.layout == Layout()}
    wanted = {place(trial): trial for trial in replays}
    return tuple(trial for key, trial in wanted.items() if key not in planned)


def _maps(forge: Maker, replays: Iterable[Trial]) -> int:
    """Links that tell where the functions of kernels lie."""
    kernels = {identity(trial.variant): forge.kernel(trial.variant) for trial in replays}
    return sum(k is None or not link_map_path(k).exists() for k in kernels.values())


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "position": trial.position,
        "block": trial.block,
        "variant": trial.variant.name,
        "layout": str(trial.layout),
        "workload": trial.workload,
        "replicate": trial.replicate,
    }


def _builds(prepared: Prepared, forge: Maker) -> list[dict[str, Any]]:
    """Kernels in the order in which they are built; seconds is 0 for those in the cache."""
    whole, known = _build_history()
    needed = [planned.variant for planned in plan_kernels(prepared.variants)]
    # Kernels that are compiled with the same flags have most objects in common, and a profile says
    # nothing of most.
    compiled = {variant.idle_code for variant in needed if forge.kernel(variant)}
    builds = []
    for variant in needed:
        objects = forge.objects(variant)
        cached = forge.kernel(variant) is not None
        each = known if variant.idle_code in compiled else whole
        compiled.add(variant.idle_code)
        if _is_relinked(variant):
            each, objects = _SECONDS_A_LINK, 1
        cost = 0.0 if cached else (objects or _DEFAULT_OBJECTS) * each
        builds.append(
            {"variant": variant.name, "objects": objects, "cached": cached, "seconds": cost}
        )
    return builds


def _is_relinked(variant: Variant) -> bool:
    """Whether the kernel has the objects of another one."""
    step = variant.last_trained
    return bool(step and not find_step_kind(step.kind).compiles)


def _training(prepared: Prepared, forge: Maker) -> list[str]:
    """Workloads that must still be run to train on, once for each kernel that is trained on."""
    trained = [planned.variant for planned in plan_kernels(prepared.variants)]
    runs = {
        (identity(trainer), step.period, name): name
        for variant in trained
        if (trainer := variant.trainer) and (step := variant.last_trained)
        if not step.files and forge.kernel(variant) is None
        for name in step.train
    }
    return list(runs.values())


def _build_history() -> tuple[float, float]:
    """Median seconds an object of the builds in the cache: compiled, and mostly known to ccache."""
    compiled: list[float] = []
    known: list[float] = []
    for path in paths.kernels().glob("*/provenance.json"):
        seconds, objects, share = _read_history(path)
        if objects:
            (compiled if share > 0.5 else known).append(seconds / objects)
    return (
        median(compiled) if compiled else _SECONDS_AN_OBJECT,
        median(known) if known else _SECONDS_A_KNOWN_OBJECT,
    )


def _read_history(path: Path) -> tuple[float, int, float]:
    """Seconds and objects of a build, and the share of them that was compiled; 0 if unknown."""
    try:
        provenance = json.loads(path.read_text(encoding="utf-8"))
        if "program" in provenance:  # of which not all objects are compiled each time
            return 0.0, 0, 0.0
        objects = 0 if provenance.get("resumed") else int(provenance["objects"])
        compiled = provenance.get("compiled")
        share = 1.0 if compiled is None or not objects else compiled / objects
        return float(provenance["seconds"]), objects, share
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0, 0, 0.0
