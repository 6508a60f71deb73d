# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result as one self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from kernsmith.document import StudyDocument, VerdictView
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
from kernsmith.report.study.design import design_sections
from kernsmith.report.study.luck import luck_lines
from kernsmith.report.study.words import (
    MODEL_WORDS,
    confidence,
    headline,
    judgement,
    sequential,
    workload_name,
)

_ASSUMPTIONS = (
    MODEL_WORDS,
    "The guest has one vCPU. Time in the guest is virtual: one instruction takes 2 ns, idling "
    "costs nothing.",
    "TLBs are modelled with the page size that the CPU model names; kernel text on x86-64 is "
    "often mapped with 2 MiB pages, for which iTLB figures nearly vanish.",
    "Interrupt entries, page faults and user code go through the simulated caches; only kernel "
    "code is counted.",
    "Intervals speak of other random layouts of the same objects: of how much of an effect is "
    "luck of code placement. On this machine repeated runs have no other variance at all.",
)
_EXACT = " On an exact machine every figure comes out the same, wherever it runs."


def study_page(document: StudyDocument) -> str:
    """The HTML of a study document (see `engine.document`)."""
    sections: list[Section] = []
    for variant in document.others:
        sections += _verdict_sections(document, variant)
    if not document.others:
        sections.append(Text("This study has one variant: there is nothing to compare it with."))
    sections += design_sections(document)
    sections += _layout_sections(document)
    if document.failures:
        sections += [Heading("What failed"), Bullets(list(document.failures))]
    sections += _assumption_sections(document)
    sections += _provenance_sections(document)
    sections += _repeat_sections(document)
    name, source = document.study.name, document.source
    return render_page(
        Page(
            title=f"kernsmith: {name}",
            subtitle=f"{source.name} on {document.machine.name}, {document.machine.cpu} model",
            sections=sections,
            figures=as_plain(document),
            footer=(f"kernsmith {document.kernsmith}", f"study {document.study.digest}"),
        )
    )


_COLOURS: dict[str, Kind] = {"same": "neutral", "better": "better", "worse": "worse"}


def _kind(verdict: VerdictView) -> str:
    if not verdict.significant:
        return "same"
    return "better" if verdict.ratio < 1 else "worse"


def _verdict_sections(document: StudyDocument, variant: str) -> list[Section]:
    sections: list[Section] = [Heading(f"{variant} against {document.baseline}")]
    for verdict, line in headline(document, variant):
        sections.append(Verdict(line, kind=_COLOURS[_kind(verdict)]))
    sections += [Text(line) for name, line in sequential(document) if name == variant]
    sections += [Text(f"{line[0].upper()}{line[1:]}") for line in luck_lines(document, variant)]
    rows = [v for v in document.verdicts if v.variant == variant]
    for title, chosen in (
        ("All workloads together", [r for r in rows if r.workload.startswith("overall")]),
        ("Each workload", [r for r in rows if not r.workload.startswith("overall")]),
    ):
        sections += [Heading(title, level=3), _verdict_table(chosen, confidence(document))]
    metric = document.study.metric
    primary = [r for r in rows if r.metric == metric and r.ci]
    if primary:
        primary.sort(key=lambda r: (not r.workload.startswith("overall"), r.workload))
        chart = forest_plot(
            [_interval(row) for row in primary], f"{metric}, ratio to baseline", reference=1.0
        )
        sections.append(Chart(chart, f"Ratios of {metric}, {confidence(document)} intervals"))
    return sections


def _interval(verdict: VerdictView) -> Interval:
    low, high = verdict.ci or (None, None)
    return Interval(
        workload_name(verdict),
        verdict.ratio,
        nan if low is None else low,
        nan if high is None else high,
        kind=_kind(verdict),
        overall=verdict.mix,
    )


def _verdict_table(rows: Sequence[VerdictView], sure: str) -> Table:
    columns = [
        Column("workload"),
        Column("metric"),
        Column("ratio", number=".4f"),
        Column("from", number=".4f"),
        Column("to", number=".4f"),
        Column("p", number=".2g"),
        Column("layout's share", number=".1%"),
        Column("one binary said", number=".4f"),
        Column("layouts", number="d"),
        Column("verdict"),
        Column("profile"),
    ]
    trained = {True: "trained", False: "held out", None: ""}
    return Table(
        columns,
        [
            [
                row.workload,
                row.metric,
                row.ratio,
                row.ci[0] if row.ci else None,
                row.ci[1] if row.ci else None,
                row.p,
                row.layout_share,
                row.default_ratio,
                row.n,
                judgement(row),
                trained[row.trained],
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
        Heading("What layout alone does"),
        Text(
            "Each point is one random order of the same functions of one kernel: nothing was "
            "compiled again. One binary of each kernel is one point of each box."
        ),
        Chart(box_plot(samples, title), "Random layouts of each kernel"),
        Chart(run_order_plot(order, title, "block"), "The same figures in the order of the runs"),
    ]


def _assumption_sections(document: StudyDocument) -> list[Section]:
    cpu = json.dumps(document.machine.conditions.get("cpu", {}), indent=1)
    return [
        Heading("What the model is and is not"),
        Bullets(list(_ASSUMPTIONS)),
        Details("The CPU model, whole", [Code(cpu)]),
    ]


def _provenance_sections(document: StudyDocument) -> list[Section]:
    sections: list[Section] = [Heading("Provenance")]
    for variant in document.variants:
        made = variant.provenance
        if not made:
            continue
        rows: list[list[str | int | float | bool | None]] = [
            ["source", f"{variant.source.origin} ({variant.source.digest})"],
            ["compiler", made["compiler"]],
            ["linker", made["linker"]],
            ["vmlinux SHA-256", made["vmlinux_sha256"]],
            ["build id", made["build_id"]],
            ["config SHA-256", made["config_sha256"]],
            ["profiles SHA-256", _profile_digests(made)],
            ["objects compiled", str(made["objects"])],
            ["built", f"{made['built_at']}, in {made['seconds']} s"],
        ]
        table = Table([Column("what"), Column("value")], rows, caption=variant.name)
        command = Code(" ".join(made["command"]), caption="Command line of the build")
        sections += [Heading(variant.name, level=3), table, command]
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
            command = variant.package_command
            sections.append(Code(command, caption=f"Installable packages of {variant.name}"))
    return sections
