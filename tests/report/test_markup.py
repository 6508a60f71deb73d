# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's words are text wherever they are shown: `a[/b]` is no markup of rich."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from documents import study_document, verdict
from kernsmith.cli.console import result_console
from kernsmith.cli.outcome import show
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.report.plan_tables import print_plan
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page

NAME = "a[/b] <i>|"
DOCUMENT = replace(
    study_document([verdict(0.9, (0.8, 0.95))], NAME),
    failures=(f"{NAME} does not build",),
    remarks=(f"{NAME} is left out",),
)


def test_a_result_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(DOCUMENT, as_json=False)
    printed = capsys.readouterr().out
    assert f"{NAME} against A" in printed
    assert f"failed: {NAME} does not build" in printed
    assert f"note: {NAME} is left out" in printed


def test_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    trial = {"position": 1, "block": 0, "variant": NAME, "layout": "default", "workload": "pipe",
             "replicate": 0, "done": False, "replayed": True}  # fmt: skip
    seconds = dict.fromkeys(("total", "builds", "training", "links", "trials", "replays"), 1.0)
    plan = {
        "builds": [{"variant": NAME, "objects": None, "seconds": 1.0, "cached": False}],
        "refused": [{"variant": NAME, "reason": NAME}], "training": [NAME], "trials": [trial],
        "not_checked": [NAME], "remarks": [NAME], "links": 0, "seconds": seconds, "history": False,
        "boots": {"trials": 0, "traces": 1, "checks": 2}, "replays": 1,
    }  # fmt: skip
    print_plan(plan, result_console())
    assert capsys.readouterr().out.count(NAME) == 7


def test_progress_on_a_terminal() -> None:
    display = ProgressDisplay()
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    display._console = display._bars.live.console = console
    display._bars.disable = False
    with display:
        display.stage(f"kernel {NAME}")
        display.note(NAME)
        display.progress("objects", 1, 2)
    file = console.file
    assert isinstance(file, io.StringIO)
    assert f"kernel {NAME}" in file.getvalue()


def test_pages_and_markdown() -> None:
    page, markdown = study_page(DOCUMENT), study_markdown(DOCUMENT)
    assert "<i>" not in page.split("<script", 1)[0]
    assert "a[/b] &lt;i&gt;|" in page
    assert "| a\\[/b\\] &lt;i&gt;\\| |" in markdown
