# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result as one self-contained HTML page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from kernsmith.document import StudyDocument, VerdictView
from kernsmith.document.study import MODEL_CYCLES, OVERALL
from kernsmith.document.text import as_plain
from kernsmith.report.charts import Interval, box_plot, forest_plot, run_order_plot
from kernsmith.report.page import (
    Bullets,
    Chart,
    Code,
    Column,
    Details,
    Heading,
    Kind,
    Page,
    Section,
    Table,
    Text,
    Verdict,
    render_page,
)
from kernsmith.report.study.attribution import attribution_sections
from kernsmith.report.study.checks import check_sections
from kernsmith.report.study.curves import curve_charts
from kernsmith.report.study.design import design_sections
from kernsmith.report.study.hottest import hottest_sections
from kernsmith.report.study.luck import luck_lines
from kernsmith.report.study.machines import pair_sections
from kernsmith.report.study.noise import noise_lines
from kernsmith.report.study.proved import proved_lines, proved_table, refuted_lines
from kernsmith.report.study.silicon import caution_sections
from kernsmith.report.study.specialities import speciality_tables
from kernsmith.report.study.steps import steps_sections
from kernsmith.report.study.stress import stress_sections
from kernsmith.report.study.verified import broken_lines, verified_lines
from kernsmith.report.study.words import (
    confidence,
    harmed,
    headline,
    judgement,
    modelled,
    name_of_model,
    sequential,
    words_of_model,
    workload_name,
)

_OF_LAYOUTS = (
    "Intervals speak of other random layouts of the same objects: of how much of an effect is "
    "luck of code placement."
)
_OF_BOOTS = (
    "Intervals speak of other boots of the same kernels, in other random layouts: of how much of "
    "an effect is luck, of a boot or of code placement."
)
_REPLAYED = (
    "Random layouts were replayed: what a boot in the default layout executed, with every function "
    "where another order puts it. Two of each variant were linked and booted to check that."
)
_SAMPLED = (
    " Of each trace one window of {every} was replayed, the same in every layout: a layout's "
    "figure is that of the boot, times what both cost in these windows."
)
_BOOTS = (
    " What was executed was traced in {boots} boots of each variant and workload, which differ by "
    "luck alone, and layouts are dealt out to them: an interval is of the boots, and holds the "
    "luck of both."
)
_EXACT = " On an exact machine every figure comes out the same, wherever it runs."


def study_page(
    document: StudyDocument,
    more: Sequence[Section] = (),
    notes: Sequence[str] = (),
    coverage: str = "",
) -> str:
    """The HTML of a study document: the answer, what explains it, then all figures, folded.

    more: sections behind the figures, of what the document does not hold. notes: warnings.
    coverage: the way to the index of pages of coverage; empty when there are none.
    """
    sections: list[Section] = [Verdict(note, "warning") for note in notes]
    sections += _answer_sections(document)
    sections += pair_sections(document)
    sections += _explaining_sections(document)
    sections += attribution_sections(document)
    sections += stress_sections(document)
    sections += hottest_sections(document, coverage)
    sections += _design_sections(document)
    sections += _age_sections(document)
    if document.failures:
        sections += [Heading("What failed"), Bullets(list(document.failures))]
    sections += [Heading("All figures"), *_figure_sections(document), *more]
    sections += _assumption_sections(document)
    sections += steps_sections(document)
    sections += _provenance_sections(document)
    sections += _repeat_sections(document)
    source, machine = document.source, document.machine
    model = f", {machine.cpu} model" if machine.cpu else ""
    beside = f", and on {document.pair.machine.name}" if document.pair else ""
    return render_page(
        Page(
            title=f"kernsmith: {document.study.name}",
            subtitle=f"{source.name} on {machine.name}{model}{beside}",
            sections=sections,
            figures=as_plain(document),
            footer=(f"kernsmith {document.kernsmith}", f"study {document.study.digest}"),
        )
    )


_COLOURS: dict[str, Kind] = {"same": "neutral", "better": "better", "worse": "worse"}
# With more variants than this, the first picture has a line a variant, and no workloads.
_FEW = 2


def _kind(document: StudyDocument, verdict: VerdictView) -> str:
    """What the colour says: of the corrected decision, by the metric's direction."""
    if not verdict.significant:
        return "same"
    lower = document.lower_is_better(verdict.metric)
    return "better" if (verdict.ratio < 1) == lower else "worse"


def _answer_sections(document: StudyDocument) -> list[Section]:
    """The first screen: a sentence a variant and one forest plot; then what to be careful about."""
    if not document.others:
        return [Text("This study has one variant: there is nothing to compare it with.")]
    metric = document.study.metric
    heads = [pair for name in document.others for pair in headline(document, name)]
    overall = [(each, line) for each, line in heads if each.workload == OVERALL]
    sections: list[Section] = [
        Verdict(line, _COLOURS[_kind(document, each)]) for each, line in overall[:_FEW]
    ]
    sections += [
        Verdict(line, "worse") for name in document.others if (line := harmed(document, name))
    ]
    broken = [*broken_lines(document), *refuted_lines(document)]
    sections += [Verdict(line, "warning") for line in broken]
    rest = [line for _, line in heads if line not in {line for _, line in overall[:_FEW]}]
    if len(overall) > _FEW:
        sections.append(_forest(document, [each for each, _ in overall], by_variant=True))
    for name in document.others:
        own = [each for each in document.verdicts_of(name, metric) if each.ci]
        if len(overall) <= _FEW and own:
            own.sort(key=lambda each: (not each.mix, each.workload))
            sections.append(_forest(document, own))
    sections += [*speciality_tables(document), *curve_charts(document)]
    if document.failures:
        count = len(document.failures)
        sections.append(Verdict(f"{count} failed, see below under “What failed”.", "warning"))
    if metric == MODEL_CYCLES:
        sections += caution_sections(name_of_model(document), document.machine.held)
    lines = [line for _, line in sequential(document)]
    for name in document.others:
        lines += [f"{name}: {line}" for line in luck_lines(document, name)]
    lines += noise_lines(document)
    lines += [line for line in verified_lines(document) if line not in broken]
    lines += [line for line in proved_lines(document) if line not in broken]
    return [*sections, Bullets([*rest, *lines])]


def _forest(
    document: StudyDocument, verdicts: Sequence[VerdictView], *, by_variant: bool = False
) -> Chart:
    metric = document.study.metric
    lines = [
        _interval(document, each, each.variant if by_variant else workload_name(each))
        for each in verdicts
    ]
    what = "each variant" if by_variant else f"{verdicts[0].variant} on each workload"
    return Chart(
        forest_plot(lines, f"{metric}, ratio to {document.baseline}", reference=1.0),
        f"{metric} of {what}, {confidence(document)} intervals over {document.sample}; squares: "
        "what one binary of each said; grey: no difference after correction"
        + ("" if by_variant else "; single workloads are exploratory"),
    )


def _interval(document: StudyDocument, verdict: VerdictView, label: str) -> Interval:
    low, high = verdict.ci or (None, None)
    return Interval(
        label,
        verdict.ratio,
        nan if low is None else low,
        nan if high is None else high,
        kind=_kind(document, verdict),
        overall=verdict.mix,
        mark=verdict.default_ratio,
    )


def _explaining_sections(document: StudyDocument) -> list[Section]:
    """Pictures: which other headline metrics moved, and what layout alone does."""
    sections: list[Section] = []
    for name in document.others[:_FEW]:
        rows = [
            each
            for each in document.verdicts
            if each.variant == name and each.workload == OVERALL and each.ci
            if each.metric in document.headlines
        ]
        if len(rows) > 1:
            lines = [_interval(document, each, each.metric) for each in rows]
            chart = forest_plot(lines, f"ratio to {document.baseline}", reference=1.0)
            caption = f"{name}: all headline metrics over the whole mix (the primary family)"
            sections += [Chart(chart, caption)]
    if sections:
        sections.insert(0, Heading("What moved"))
    return sections + _layout_sections(document)


def _design_sections(document: StudyDocument) -> list[Section]:
    """The whole design in sentences, its tables folded."""
    sections = design_sections(document)
    tables = [each for each in sections if isinstance(each, Table)]
    words = [each for each in sections if not isinstance(each, Table)]
    return [*words, Details("Tables of the whole design", tables)] if sections else []


def _figure_sections(document: StudyDocument) -> list[Section]:
    """Every verdict, in folded tables; times of a virtual clock apart from what was measured."""
    virtual = {each.name for each in document.metrics if each.meaning == "virtual"}
    sections: list[Section] = []
    for name in document.others:
        rows = [each for each in document.verdicts if each.variant == name]
        parts = {
            "primary family: headline metrics over all workloads": [
                row for row in rows if row.family == "primary"
            ],
            "exploratory: single workloads, other metrics and mixes": [
                row for row in rows if row.family != "primary" and row.metric not in virtual
            ],
            "times of the guest's virtual clock, which are no seconds": [
                row for row in rows if row.metric in virtual
            ],
        }
        for title, chosen in parts.items():
            if chosen:
                table = _verdict_table(
                    chosen, confidence(document), document.sample, document.by_luck
                )
                sections.append(Details(f"{name}: {title} ({len(chosen)} rows)", [table]))
    return sections


def _verdict_table(rows: Sequence[VerdictView], sure: str, sample: str, luck: str) -> Table:
    columns = [
        Column("workload"),
        Column("metric"),
        Column("verdict"),
        Column("ratio", number=".4f"),
        Column("from", number=".4f"),
        Column("to", number=".4f"),
        Column("p", number=".2g"),
        Column("p, corrected", number=".2g"),
        Column(f"{luck}'s share", number=".1%"),
        Column("one binary said", number=".4f"),
        Column(sample, number="d"),
    ]
    return Table(
        columns,
        [
            [
                workload_name(row),
                row.metric,
                judgement(row),
                row.ratio,
                row.ci[0] if row.ci else None,
                row.ci[1] if row.ci else None,
                row.p,
                row.p_corrected,
                row.layout_share,
                row.default_ratio,
                row.n,
            ]
            for row in rows
        ],
        caption=f"Ratios to the baseline, geometric means over random layouts, {sure} intervals",
    )


def _layout_sections(document: StudyDocument) -> list[Section]:
    """Box plots of what layout alone does to each variant, and the order of the runs."""
    metric = document.study.metric
    mixes = [mix for mix in document.mixes if mix.metric == metric]
    samples = {mix.variant: [value for _, value in mix.values] for mix in mixes}
    if not samples or max(map(len, samples.values())) < 2:
        return []
    title = f"{metric}, geometric mean over workloads"
    order = {mix.variant: [(float(block), value) for block, value in mix.values] for mix in mixes}
    return [
        Heading(f"What {document.by_luck} alone does"),
        Text(
            "Each point is one random order of the same functions of one kernel: nothing was "
            "compiled again. One binary of each kernel is one point of each box."
            + (" Each has the luck of its boot, too." if document.boots > 1 else "")
        ),
        Chart(box_plot(samples, title), "Random layouts of each kernel"),
        Chart(run_order_plot(order, title, "block"), "The same figures in the order of the runs"),
        *check_sections(document),
    ]


def _assumption_sections(document: StudyDocument) -> list[Section]:
    conditions, presumed = document.machine.conditions, document.machine.assumptions
    sample = _OF_BOOTS if document.boots > 1 else _OF_LAYOUTS
    if not modelled(document):
        return [
            Heading("What the figures presume"),
            Bullets([*presumed, sample]),
            Details("The machine, whole", [Code(json.dumps(conditions, indent=1))]),
        ]
    cpu = json.dumps(conditions.get("cpu", {}), indent=1)
    return [
        Heading("What the model is and is not"),
        Bullets([words_of_model(document), *presumed, sample, *_replayed(document)]),
        Details("The CPU model, whole", [Code(cpu)]),
    ]


def _replayed(document: StudyDocument) -> list[str]:
    if not any(run.replayed for run in document.runs):
        return []
    sampled = "" if document.every == 1 else _SAMPLED.format(every=document.every)
    boots = "" if document.boots == 1 else _BOOTS.format(boots=document.boots)
    return [_REPLAYED + boots + sampled]


def _age_sections(document: StudyDocument) -> list[Section]:
    """What was left out, added or changed of a source or a config: each patch once."""
    patches: dict[str, list[str]] = {}
    for variant in document.variants:
        if variant.provenance and (patch := variant.provenance.get("patch")):
            patches.setdefault(patch, []).append(variant.name)
    if not document.remarks and not patches:
        return []
    return [
        Heading("What is otherwise than asked"),
        Bullets(list(document.remarks)),
        *(Details(f"Patch of {', '.join(of)}", [Code(patch)]) for patch, of in patches.items()),
    ]


def _provenance_sections(document: StudyDocument) -> list[Section]:
    sections: list[Section] = [Heading("Provenance")]
    for variant in document.variants:
        provenance = variant.provenance
        if not provenance:
            continue
        rows: list[list[str | int | float | bool | None]] = [
            ["source", f"{variant.source.origin} ({variant.source.digest})"],
            ["compiler", provenance["compiler"]],
            ["linker", provenance["linker"]],
            ["vmlinux SHA-256", provenance["vmlinux_sha256"]],
            ["build id", provenance["build_id"]],
            ["config SHA-256", provenance["config_sha256"]],
            ["profiles SHA-256", _profile_digests(provenance)],
            ["objects compiled", str(provenance["objects"])],
            ["built", f"{provenance['built_at']}, in {provenance['seconds']} s"],
        ]
        table = Table([Column("what"), Column("value")], rows, caption=variant.name)
        command = Code(shlex.join(provenance["command"]), caption="Command line of the build")
        sections.append(Details(variant.name, [table, command]))
    return sections


def _profile_digests(provenance: Mapping[str, Any]) -> str:
    """The profiles of a kernel's steps; kernels of earlier versions name none."""
    profiles = provenance.get("profiles", ())
    named = [f"{each['step']}: {' '.join(each['sha256'])}" for each in profiles]
    return "; ".join(named) or "none"


def _repeat_sections(document: StudyDocument) -> list[Section]:
    sections: list[Section] = [
        Heading("Repeat it"),
        Text("This study, word by word." + (_EXACT if document.machine.exact else "")),
        Code(document.study.text, caption="study.toml"),
        Code("kernsmith run study.toml", caption="Run it"),
    ]
    for variant in document.variants:
        if variant.package_command and not variant.baseline:
            made = "\n".join(variant.packages) or variant.package_command
            sections.append(Code(made, caption=f"Installable packages of {variant.name}"))
    sections += [proved_table(answer) for answer in document.proved if answer.facts]
    return sections
