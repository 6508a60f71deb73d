# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith report`: a page from the ledger."""

from pathlib import Path

import numpy as np
import pytest

from kernsmith.cli.report import report
from kernsmith.errors import UserError
from kernsmith.ledger import Ledger, RunRow, TrialRow, now


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    ledger, random = Ledger(url), np.random.default_rng(1)
    plan = [
        (
            TrialRow(
                digest=f"{len('x' * layout) * 100 + v * 10 + w:064x}", kernel="k" * 64,
                variant=variant, layout=f"random:1.{layout}", workload=workload, machine="tcg",
                cpu="skylake", replicate=0, conditions={},
            ),
            variant,
            layout,
            4 * layout + 2 * v + w,
        )
        for layout in range(1, 9)
        for v, variant in enumerate(("<base>", "afdo"))
        for w, workload in enumerate(("pipe", "fork"))
    ]  # fmt: skip
    ledger.record_study("a" * 64, "lab", "[study]\nname = 'lab'", plan)
    for trial, variant, *_ in plan:
        attempt = ledger.claim(trial.digest)
        assert attempt is not None
        cycles = 1e6 * (0.9 if variant == "afdo" else 1.0) * float(random.normal(1, 0.01))
        metrics = {"model_cycles": (cycles, "cycles"), "stlb_misses": (0.0, "misses")}
        ledger.record(RunRow(trial.digest, attempt, "ok", "", "", now(), 1.0, metrics))
    ledger.close()
    return url


def test_a_page(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert report("lab", ledger=url, output=page) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    text = page.read_text()
    assert "afdo: faster by " in text
    assert "&lt;base&gt;" in text
    assert "<base>" not in text.split("<script", 1)[0]
    assert "Where the variance within variants comes from" in text
    assert "Always-valid intervals of the overall ratio" in text
    assert text.index("model_cycles (cycles)") < text.index("stlb_misses (misses)")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"metric": ("seconds",)}, "study lab: no finished run has the metric 'seconds'"),
        ({"baseline": "lto"}, "no variant is called 'lto'; there are <base>, afdo"),
        ({"alpha": 2.0}, "--alpha is a probability between 0 and 1, not 2"),
        ({"output": Path("/nowhere/report.html")}, "/nowhere/report.html cannot be written"),
    ],
)
def test_mistakes(url: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        report("lab", ledger=url, **options)  # type: ignore[arg-type]
    assert sentence in str(caught.value)
