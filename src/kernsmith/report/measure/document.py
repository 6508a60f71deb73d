# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith measure --json` prints; docs/measure.md says what the keys mean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kernsmith import __version__
from kernsmith.engine.measure import Comparison, Measured
from kernsmith.machine.command import Ran
from kernsmith.machine.metrics import in_order, metric
from kernsmith.report.analysis.export import plain
from kernsmith.report.measure.words import comparison_sentence
from kernsmith.stats.spread import spread_of

FORMAT = "kernsmith-measure"
VERSION = 1


def as_json(measured: Measured) -> str:
    """The document as text in one line, ended by a line end. NaN and infinity are null."""
    document = plain(as_document(measured))
    return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def as_document(measured: Measured) -> dict[str, Any]:
    """Every figure unrounded."""
    running = measured.kernel.running
    return {
        "format": FORMAT,
        "version": VERSION,
        "kernsmith": __version__,
        "kernel": {
            "key": measured.kernel.key,
            "name": measured.kernel.name,
            "known": measured.kernel.known,
            "build_id": running.build_id or None,
            "release": running.release,
            "boot": running.boot,
            "booted_at": running.booted_at,
        },
        "conditions": [asdict(each) for each in measured.conditions],
        "warm_up": measured.plan.warm_up,
        "commands": [
            {
                "command": name,
                "runs": len(runs),
                "failed": measured.failed[name],
                "metrics": {each: _figures(runs, each) for each in names_of(runs)},
            }
            for name, runs in measured.runs.items()
        ],
        "left_out": [asdict(each) for each in measured.left_out],
        "comparisons": [_comparison(each) for each in measured.comparisons],
    }


def names_of(runs: Sequence[Ran]) -> list[str]:
    """The metrics that all runs have, in the order of the catalogue."""
    return in_order(set.intersection(*(set(ran.metrics) for ran in runs)))


def _figures(runs: Sequence[Ran], name: str) -> dict[str, Any]:
    values = [ran.metrics[name] for ran in runs]
    spread = spread_of(values)
    return {
        "unit": metric(name).unit,
        "mean": spread.mean,
        "sd": spread.sd if len(values) > 1 else None,
        "min": spread.low,
        "median": spread.median,
        "max": spread.high,
        "values": values,
    }


def _comparison(each: Comparison) -> dict[str, Any]:
    effect, units, robust = each.found.effect, each.found.units, each.found.robust
    return {
        "of": each.of,
        "command": each.command or None,
        "baseline": each.baseline,
        "treated": each.treated,
        "ratio": effect.ratio,
        "ci": effect.ci,
        "p": effect.p,
        "p_corrected": each.p_corrected,
        "significant": each.significant,
        "alpha": effect.alpha,
        "unit": units.level,
        "fixed": units.fixed,
        "paired": units.paired,
        "units": effect.n,
        "robust": None if robust is None else asdict(robust),
        "robust_differs": each.found.robust_differs,
        "components": [asdict(part) for part in each.found.components],
        "drifts": [asdict(drift) for drift in each.found.drifts],
        "outliers": [asdict(outlier) for outlier in each.found.outliers],
        "sentence": comparison_sentence(each),
    }
