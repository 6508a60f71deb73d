# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's figures in words, the same in the terminal, in Markdown and on the page."""

from __future__ import annotations

from kernsmith.document import LevelView, StudyDocument, VerdictView
from kernsmith.document.factors import Bounds
from kernsmith.document.study import MODEL_CYCLES
from kernsmith.report.study.silicon import model_words

MODEL_WORDS = (
    "model_cycles is a model: the front end of a simulated CPU, in time or as a sum of penalties. "
    "It does not see data caches, memory or out-of-order execution; see docs/model.md."
)

CORE_WORDS = (
    "model_cycles is a model: the front end of a simulated CPU in time, its data caches and TLBs, "
    "and how far a reorder window hides what loads wait for. It does not see which instruction "
    "needs which; see docs/model.md."
)

_FUNCTIONS_SAID = 4
_MIX_WORDS = {
    "overall": "whole mix",
    "overall-trained": "workloads trained on",
    "overall-held-out": "workloads held out",
}


def words_of_model(document: StudyDocument) -> str:
    """What its model's cycles are, by the depth that was simulated."""
    return CORE_WORDS if _is_core(document) else MODEL_WORDS


def name_of_model(document: StudyDocument) -> str:
    """The CPU model, and the depth if it is not the usual one."""
    return f"{document.machine.cpu} (depth core)" if _is_core(document) else document.machine.cpu


def _is_core(document: StudyDocument) -> bool:
    return document.machine.conditions.get("depth") == "core"


def headline(document: StudyDocument, variant: str) -> list[tuple[VerdictView, str]]:
    """What was found on the metric that the study is about: verdict, words."""
    return [
        (verdict, f"{variant}: {_MIX_WORDS[verdict.workload]}: {_whole(verdict)}")
        for verdict in document.verdicts_of(variant, document.study.metric, mixes=True)
    ]


def harmed(document: StudyDocument, variant: str) -> str:
    """The workloads on which a variant is significantly worse than the baseline, the worst first;
    empty without any."""
    metric = document.study.metric
    lower = document.lower_is_better(metric)
    worse = [
        each
        for each in document.verdicts_of(variant, metric, mixes=False)
        if each.significant and (each.ratio > 1) == lower
    ]
    worse.sort(key=lambda each: each.ratio, reverse=lower)
    shown = (f"{workload_name(each)} {100 * (each.ratio - 1):+.1f} %" for each in worse)
    return f"{variant}: worse than the baseline on {', '.join(shown)}" if worse else ""


def _whole(verdict: VerdictView) -> str:
    words = model_words(verdict)
    return f"{verdict.sentence}, {words}" if words else verdict.sentence


def sequential(document: StudyDocument) -> list[tuple[str, str]]:
    """For studies that went on until their interval was narrow: variant, what holds whenever."""
    lines = []
    for look in document.sequential:
        words = f"{look.variant}: {look.sentence}"
        if look.ci is not None:
            low, high = (f"{change:+.2f}" for change in _changes(look.ci))
            words += (
                f"; the change is {low} … {high} %, p = {look.p:.2g}, "
                "valid whatever made the study stop"
            )
        lines.append((look.variant, words))
    return lines


def modelled(document: StudyDocument) -> bool:
    """Whether any figure is of the model."""
    return any(MODEL_CYCLES in run.metrics for run in document.runs)


def workload_name(verdict: VerdictView) -> str:
    """The workload, and whether the profile was made without it."""
    return verdict.workload + (" (held out)" if verdict.trained is False else "")


def interval(bounds: Bounds | None) -> str:
    """`0.8412 … 0.8467`, or a dash when there is one layout only."""
    if bounds is None:
        return "–"
    low, high = (number(bound, ".4f") for bound in bounds)
    return f"{low} … {high}"


def number(value: float | None, form: str) -> str:
    """A formatted figure, or a dash."""
    return "–" if value is None else format(value, form)


def judgement(verdict: VerdictView | LevelView) -> str:
    """One or two words: what the interval says ("no difference": none that is significant)."""
    if verdict.p is None:
        return "no verdict"
    if not verdict.significant:
        return "no difference"
    return "less" if verdict.ratio < 1 else "more"


def confidence(document: StudyDocument) -> str:
    """The intervals' confidence in words: `95 %`."""
    return f"{100 * (1 - document.study.alpha):g} %"


def _changes(bounds: Bounds) -> tuple[float, float]:
    low, high = bounds
    return (
        100 * ((0.0 if low is None else low) - 1),
        float("inf") if high is None else 100 * (high - 1),
    )


def attribution_lines(document: StudyDocument, variant: str) -> list[str]:
    """Which functions make the difference, in a sentence, and one for what collides; none where
    that is not known."""
    lines = []
    for one in document.attributions:
        if one.variant != variant or not one.functions:
            continue
        largest = one.functions[:_FUNCTIONS_SAID]
        most = ", ".join(f"{each.name} {each.change:+.2f}" for each in largest)
        lines.append(
            f"from default layout to default layout {one.change:+.2f} % model_cycles; by function "
            f"most: {most}"
        )
        if found := one.collisions:
            (before, after), (all_before, all_after) = found.conflicts, found.misses
            lines.append(
                f"L1i misses that placement is to blame for: {before:,.0f} → {after:,.0f} a "
                f"million instructions, of {all_before:,.0f} → {all_after:,.0f}"
            )
    return lines
