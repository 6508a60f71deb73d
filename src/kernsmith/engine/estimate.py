# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study would do and how long it would take, without doing it."""

from __future__ import annotations

import json
from os import cpu_count
from pathlib import Path
from statistics import mean
from typing import Any

from kernsmith import paths
from kernsmith.engine.events import Events
from kernsmith.engine.forge import identity
from kernsmith.engine.prepare import Prepared, prepare
from kernsmith.kernel.artifact import load_kernel
from kernsmith.kernel.build import make_recipe
from kernsmith.ledger import Ledger
from kernsmith.study import Study, Variant

# Used until there is history; measured on 2 cores with a kernel of 1,000 objects.
_SECONDS_AN_OBJECT = 0.25
_SECONDS_A_TRIAL = 6.0
_SECONDS_A_LINK = 6.0
_DEFAULT_OBJECTS = 1800

FORMAT = "kernsmith-plan"
VERSION = 1


def estimate(study: Study, ledger: Ledger, events: Events) -> dict[str, Any]:
    """The plan as a JSON-able document: builds, links, trials in their order, seconds.

    Raises:
        UserError: a word of the study means nothing.
    """
    prepared = prepare(study, events)
    builds = _builds(prepared)
    links = _links(prepared)
    typical = ledger.typical_seconds(study.machine)
    workers = (cpu_count() or 1) if prepared.machine.exact else 1
    usual = mean(typical.values()) if typical else _SECONDS_A_TRIAL
    trials = [
        {
            "position": trial.position,
            "block": trial.block,
            "variant": trial.variant.name,
            "layout": str(trial.layout),
            "workload": trial.workload,
            "replicate": trial.replicate,
        }
        for trial in prepared.trials
    ]
    run_seconds = sum(typical.get(trial.workload, usual) for trial in prepared.trials) / workers
    parts = {
        "builds": sum(build["seconds"] for build in builds),
        "links": links * _SECONDS_A_LINK / (cpu_count() or 1),
        "trials": run_seconds,
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "study": study.name,
        "builds": builds,
        "links": links,
        "trials": trials,
        "seconds": parts | {"total": sum(parts.values())},
        "history": bool(typical),
    }


def _builds(prepared: Prepared) -> list[dict[str, Any]]:
    """Kernels in the order in which they are built; seconds is 0 for those in the cache."""
    history = _build_history()
    needed: dict[str, Variant] = {}
    for variant in prepared.variants:
        if variant.profile:
            needed.setdefault(identity(variant.trainer), variant.trainer)
        needed.setdefault(identity(variant), variant)
    ordered = sorted(needed.values(), key=lambda variant: variant.profile is not None)
    builds = []
    for variant in ordered:
        recipe = make_recipe(variant, prepared.source, None)
        cached = variant.profile is None and _is_built(recipe.key)
        objects = recipe.objects or _DEFAULT_OBJECTS
        builds.append(
            {
                "variant": variant.name,
                "objects": recipe.objects,
                "cached": cached,
                "seconds": 0.0 if cached else objects * history,
            }
        )
    return builds


def _is_built(key: str) -> bool:
    return load_kernel(paths.kernels() / key[:20]) is not None


def _build_history() -> float:
    """Mean seconds an object of the builds in the cache."""
    figures = []
    for path in paths.kernels().glob("*/provenance.json"):
        seconds, objects = _read_history(path)
        if objects:
            figures.append(seconds / objects)
    return mean(figures) if figures else _SECONDS_AN_OBJECT


def _read_history(path: Path) -> tuple[float, int]:
    try:
        provenance = json.loads(path.read_text(encoding="utf-8"))
        whole = not provenance.get("resumed")
        return float(provenance["seconds"]), int(provenance["objects"]) if whole else 0
    except (OSError, ValueError, KeyError):
        return 0.0, 0


def _links(prepared: Prepared) -> int:
    images = {
        (identity(trial.variant), str(trial.layout))
        for trial in prepared.trials
        if trial.layout.kind != "default"
    }
    return len(images)
