# SPDX-License-Identifier: GPL-2.0-or-later
"""The first screen of every result's page, in Debian's Chromium: it answers, and fits."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import Chromium
from test_documents import BISECT, BLAME, ORDERS, SHARES

from documents import study_document, verdict
from kernsmith.cli.report import result_page
from kernsmith.document import MetricView
from kernsmith.document.text import Document

pytestmark = pytest.mark.browser
ARTIFACTS = Path("build/test-artifacts")
WORKLOADS = [f"workload-{number}" for number in range(14)]
METRICS = [
    MetricView("model_cycles", "cycles", "", True, "modelled"),
    MetricView("l1i_misses", "misses", "", True, "modelled"),
    MetricView("virtual_seconds", "s", "", False, "virtual"),
]


def study() -> Document:
    """As large as the demo's: 14 workloads, 3 metrics."""
    verdicts = [
        verdict(
            0.8 + index / 100, (0.78 + index / 100, 0.82 + index / 100), workload=workload,
            metric=metric.name, default_ratio=0.81 + index / 90, p_corrected=0.01,
            sentence="faster by 20.0 % (95 % CI 18.0 … 22.0 %), p = 0.001, n = 8 layouts",
            family="primary" if workload == "overall" and metric.headline else "exploratory",
            significant=index < 12,
        )
        for metric in METRICS
        for index, workload in enumerate(["overall", *WORKLOADS])
    ]  # fmt: skip
    return replace(study_document(verdicts, "profile=autofdo"), metrics=tuple(METRICS))


@pytest.fixture(params=["study", "bisect", "blame", "shares", "layouts"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made: dict[str, Callable[[], Document]] = {
        "study": study,
        "bisect": lambda: BISECT,
        "blame": lambda: BLAME,
        "shares": lambda: SHARES,
        "layouts": lambda: ORDERS,
    }
    path = tmp_path / f"{request.param}.html"
    path.write_text(result_page(made[request.param]()))
    return path


@pytest.mark.parametrize("width", [1250, 400])
def test_the_first_screen_answers(chromium: Chromium, page: Path, width: int) -> None:
    chromium.call(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    chromium.open(page)
    chromium.wait("document.documentElement.dataset.charts === 'interactive'")
    for scheme in ("dark", "light"):
        chromium.emulate(scheme=scheme)
        chromium.screenshot(ARTIFACTS / f"{page.stem}-{width}-{scheme}.png")
    assert chromium.problems == []
    edge = "(e => e.getBoundingClientRect().%s)(document.querySelector('%s'))"
    assert chromium.run(edge % ("bottom", "main .verdict")) < 400
    assert chromium.run(edge % ("bottom", ".chart svg")) <= 900
    assert chromium.run(edge % ("right", ".chart svg")) <= width
    assert chromium.run("document.documentElement.scrollWidth") <= width
    tables = "[...document.querySelectorAll('table')]"
    assert chromium.run(f"{tables}.every(table => table.closest('details'))")
    (ARTIFACTS / f"{page.stem}.pdf").write_bytes(chromium.print_pdf())


def test_no_column_is_cut_off(chromium: Chromium, tmp_path: Path) -> None:
    page = tmp_path / "study.html"
    page.write_text(result_page(study()))
    chromium.call(
        "Emulation.setDeviceMetricsOverride",
        width=1250, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    chromium.open(page)
    chromium.run("document.querySelectorAll('details').forEach(each => { each.open = true })")
    widths = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
    assert max(chromium.run(widths)) <= 0
    titles = chromium.run("[...document.querySelectorAll('summary')].map(e => e.innerText)")
    assert any("virtual clock, which are no seconds" in title for title in titles)
