# SPDX-License-Identifier: GPL-2.0-or-later
"""Small results with made-up figures, for tests of what is shown of them."""

from collections.abc import Sequence
from dataclasses import replace

from kernsmith.document import (
    MachineView,
    MetricView,
    RunView,
    SourceView,
    StudyDocument,
    StudyView,
    VariantView,
    VerdictView,
    WorkloadView,
)
from kernsmith.report.study.document import with_luck

SOURCE = SourceView("debian:7.3", "linux", "7.3.4", "sha256:0", "debian:7.3")
LAYOUTS = (("default", 70.0), ("random:1.1", 99.0), ("random:1.2", 100.0), ("random:1.3", 101.0))


def verdict(ratio: float, ci: tuple[float, float] | None = None, **others: object) -> VerdictView:
    """Variant B against A over the whole mix, on model_cycles unless `others` say otherwise."""
    plain = VerdictView(
        variant="B", workload="overall", metric="model_cycles", unit="cycles", ratio=ratio, ci=ci,
        p=None if ci is None else 0.001, n=3, layout_share=0.5, significant=ci is not None,
        half_added=False, default_ratio=None, default_baseline=None, default_treated=None,
        trained=None, sentence="words",
    )  # fmt: skip
    return replace(plain, **others)  # type: ignore[arg-type]


def study_document(verdicts: Sequence[VerdictView], name: str = "B") -> StudyDocument:
    """A against B in two workloads; layouts of A spread from -1 to +1 %."""
    runs = tuple(
        RunView(0, block, variant, layout, workload, 0, "", "ok", None, None,
                {"model_cycles": value * scale})
        for variant in ("A", name)
        for block, (layout, value) in enumerate(LAYOUTS)
        for workload, scale in (("pipe", 1.0), ("file", 4.0))
    )  # fmt: skip
    return with_luck(
        StudyDocument(
            kernsmith="0", study=StudyView("test", "d" * 64, 0.05, "model_cycles", "[study]\n"),
            source=SOURCE, machine=MachineView("tcg", "skylake", True, {}),
            metrics=(MetricView("model_cycles", "cycles", "", True),),
            workloads=tuple(WorkloadView(n, "", 1, False) for n in ("pipe", "file")),
            variants=tuple(
                VariantView(n, n == "A", {}, SOURCE, "/k/vmlinux", None, None, None, None)
                for n in ("A", name)
            ),
            verdicts=tuple(replace(each, variant=name) for each in verdicts), factors=(),
            runs=runs, sequential=(), failures=(), seconds=1.0, report="report.html",
        )
    )  # fmt: skip
