# SPDX-License-Identifier: GPL-2.0-or-later
"""What each workload asks of the kernel, as a report shows it."""

from dataclasses import replace

from documents import study_document, verdict
from kernsmith.document import HotFunctionView, StressView
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page

STUDY = study_document([verdict(0.9, (0.8, 0.95))])
STUDY = replace(STUDY, workloads=tuple(replace(each, unit="transfer") for each in STUDY.workloads))
PIPE = StressView("pipe", 0.8125, 3.214, (HotFunctionView("anon_pipe_read", 0.25, 7),), 1234.5)
NOTHING = StressView("file", None, None, ())


def test_a_row_tells_share_spread_and_functions() -> None:
    page = study_page(replace(STUDY, stress=(PIPE, NOTHING)))
    assert "What each workload asks of the kernel (1 rows)" in page
    for told in ("81%", "3.21", "1,234", "transfer", "anon_pipe_read 25%"):
        assert told in page


def test_markdown_has_it_too() -> None:
    told = study_markdown(replace(STUDY, stress=(PIPE, NOTHING)))
    (row,) = [line for line in told.splitlines() if line.startswith("| pipe |")]
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "pipe", "81%", "3.21", "1,234", "transfer", r"anon\_pipe\_read 25%",
    ]  # fmt: skip


def test_a_study_of_which_nothing_is_known_has_no_such_table() -> None:
    assert "What each workload asks" not in study_page(replace(STUDY, stress=(NOTHING,)))
    assert "What each workload asks" not in study_page(STUDY)
