# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result as one JSON document: what `--json` prints and reports are made from.

Described key by key in docs/study-json.md. Figures are unrounded.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict
from math import exp, isfinite
from typing import Any

from kernsmith import __version__
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.verdicts import Measured, StudyResult, primary_metric
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine.metrics import METRICS, metric
from kernsmith.report.sentences import decision_sentence, verdict_sentence
from kernsmith.stats.design import FactorAnalysis
from kernsmith.stats.verdict import Verdict
from kernsmith.study import Variant
from kernsmith.study.file import write_study

FORMAT = "kernsmith-study"
VERSION = 1


def study_document(result: StudyResult) -> dict[str, Any]:
    """The whole result, JSON-able."""
    prepared, study = result.prepared, result.prepared.study
    trained = {name for v in prepared.variants if v.profile for name in v.profile.train}
    measured = {name for item in result.measured if item.run for name in item.run.metrics}
    return {
        "format": FORMAT,
        "version": VERSION,
        "kernsmith": __version__,
        "study": {
            "name": study.name,
            "digest": study.digest,
            "alpha": study.design.alpha,
            "metric": primary_metric(study.design, measured),
            "text": write_study(study),
        },
        "source": _source(prepared, prepared.variants[0]),
        "machine": {
            "name": study.machine,
            "cpu": study.cpu,
            "exact": prepared.machine.exact,
            "conditions": dict(prepared.machine.fingerprint()),
        },
        "metrics": [asdict(each) for each in METRICS],
        "workloads": [
            {
                "name": w.name,
                "description": w.description,
                "rounds": w.rounds,
                "trained": w.name in trained,
            }
            for w in prepared.workloads
        ],
        "variants": [_variant(result, variant) for variant in prepared.variants],
        "verdicts": [_verdict(verdict) for verdict in result.verdicts],
        "factors": [_factors(each) for each in result.factors],
        "runs": [_run(item) for item in result.measured],
        "sequential": [
            {
                "variant": name,
                "reached": decision.reached,
                "n": decision.look.n,
                "ratio": exp(decision.look.mean),
                "ci": [exp(decision.look.low), exp(decision.look.high)]
                if isfinite(decision.look.low + decision.look.high)
                else None,
                "p": decision.look.p,
                "sentence": decision_sentence(decision),
            }
            for name, decision in result.looks.items()
        ],
        "failures": list(result.failures),
        "seconds": result.seconds,
    }


def _variant(result: StudyResult, variant: Variant) -> dict[str, Any]:
    kernel = result.kernels.get(variant.name)
    profile = result.profiles.get(variant.name)
    return {
        "name": variant.name,
        "baseline": variant == result.prepared.variants[0],
        "levels": dict(variant.levels),
        "source": _source(result.prepared, variant),
        "vmlinux": str(kernel.vmlinux) if kernel else None,
        "bzimage": str(kernel.bzimage) if kernel else None,
        "profile": str(profile) if profile else None,
        "provenance": kernel.provenance if kernel else None,
        "package_command": package_command(kernel) if kernel else None,
    }


def _source(prepared: Prepared, variant: Variant) -> dict[str, Any]:
    source = prepared.source_of(variant)
    return {
        "use": variant.source,
        "name": source.name,
        "version": source.version,
        "digest": source.digest,
        "origin": source.origin,
    }


def package_command(kernel: Kernel) -> str:
    """The shell command that makes installable Debian packages of a kernel, from its objects."""
    provenance = kernel.provenance
    variables = [f"{name}={value}" for name, value in provenance["environment"].items()]
    make = [word for word in provenance["command"] if word not in ("vmlinux", "bzImage")]
    return shlex.join(["env", *variables, *make, f"-j{os.cpu_count() or 1}", "bindeb-pkg"])


def _verdict(verdict: Verdict) -> dict[str, Any]:
    effect = verdict.effect
    return {
        "variant": verdict.variant,
        "workload": verdict.workload,
        "metric": verdict.metric,
        "unit": metric(verdict.metric).unit,
        "ratio": effect.ratio,
        "ci": list(effect.ci) if effect.ci else None,
        "p": effect.p,
        "n": effect.n,
        "layout_share": effect.layout_share,
        "family": verdict.family,
        "tests": verdict.tests,
        "p_corrected": verdict.p_corrected,
        "ci_corrected": list(verdict.ci_corrected) if verdict.ci_corrected else None,
        "always_valid": verdict.always_valid,
        "significant": verdict.significant,
        "half_added": effect.half_added,
        "default_ratio": verdict.default_ratio,
        "default_baseline": verdict.default_baseline,
        "default_treated": verdict.default_treated,
        "trained": verdict.trained,
        "sentence": verdict_sentence(verdict),
    }


def _factors(analysis: FactorAnalysis) -> dict[str, Any]:
    return {
        "metric": analysis.metric,
        "factors": list(analysis.factors),
        "layouts": analysis.layouts,
        "left_out": list(analysis.left_out),
        "terms": [
            {
                key: None if isinstance(figure, float) and not isfinite(figure) else figure
                for key, figure in asdict(row).items()
            }
            for row in analysis.table
        ],
        "levels": [
            {
                "factor": each.factor,
                "level": each.level,
                "baseline": each.baseline,
                "ratio": each.effect.ratio,
                "ci": list(each.effect.ci) if each.effect.ci else None,
                "p": each.effect.p,
                "n": each.effect.n,
                "p_corrected": each.p_corrected,
                "significant": each.significant,
            }
            for each in analysis.levels
        ],
    }


def _run(item: Measured) -> dict[str, Any]:
    trial, run = item.trial, item.run
    return {
        "position": trial.position,
        "block": trial.block,
        "variant": trial.variant.name,
        "layout": str(trial.layout),
        "workload": trial.workload,
        "replicate": trial.replicate,
        "trial": item.digest,
        "status": run.status if run else "none",
        "started_at": run.started_at if run else None,
        "console": run.console if run else None,
        "metrics": {name: value for name, (value, _) in run.metrics.items()} if run else {},
    }
