# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of variants, in the ledger and as tables."""

import io
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from kernsmith.errors import UserError
from kernsmith.ledger import BuildRow, Ledger, RunRow, TrialRow, now
from kernsmith.ledger.kernels import read_kernels
from kernsmith.ledger.rows import REPLAYED
from kernsmith.report.kernel_tables import kernels_as_markdown, print_kernels

BUILT = BuildRow(
    "lto", "lto=thin", "a" * 64, "ok", "", "clang version 22", "LLD 22", 981, 7, 600.0, 4 << 20
)
PANICS = BuildRow(
    "lto", "CONFIG_BINFMT_ELF=n", "b" * 64, "ok", "", "clang version 22", "LLD 22", 980, 0, 60.0, 9
)
FAILED = BuildRow("lto", "lto=full", "", "failed", "no memory\n  log: x", "clang 22", "LLD 22")
REFUSED = BuildRow("other", "lto=thin", "", "refused", "needs clang | lld", "gcc 12", "LLD 22")


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    ledger = Ledger(url)
    ledger.record_builds([BUILT, PANICS, FAILED, REFUSED])
    for number, (kernel, layout, status, conditions) in enumerate(
        [
            (BUILT.kernel, "default", "ok", {}),
            (BUILT.kernel, "random:1.1", "ok", {}),
            (BUILT.kernel, "random:1.2", "ok", {REPLAYED: 1}),
            (PANICS.kernel, "default", "panic", {}),
        ]
    ):
        digest = f"{number:064x}"
        trial = TrialRow(
            digest, kernel, "v", layout, "pipe", "tcg", "skylake", 0, conditions=conditions
        )
        ledger.add_trial(trial)
        attempt = ledger.claim(digest)
        assert attempt is not None
        reason = "" if status == "ok" else "No working init found"
        ledger.record(RunRow(digest, attempt, status, reason, "", now(), 1.0, {}))
    ledger.close()
    return url


def test_builds_with_their_boots(url: str) -> None:
    """Replays are none."""
    built, panics, failed, refused = read_kernels((), url)
    assert (built.boots, built.failed_boots, built.layouts) == (2, 0, 2)
    assert (built.objects, built.compiled, built.seconds, built.text_bytes) == (
        981,
        7,
        600.0,
        4 << 20,
    )
    assert (panics.boots, panics.failed_boots) == (0, 1)
    assert panics.reason == "panic: No working init found"
    assert (failed.status, failed.boots) == ("failed", 0)
    assert refused.reason == REFUSED.reason
    assert [row.study for row in read_kernels(["other"], url)] == ["other"]


def test_recording_builds_again_adds_nothing(url: str) -> None:
    ledger = Ledger(url)
    ledger.record_builds([BUILT, FAILED, REFUSED])
    ledger.close()
    assert len(read_kernels((), url)) == 4


def test_what_failed_and_was_built_later_was_built(url: str) -> None:
    ledger = Ledger(url)
    mended = replace(FAILED, kernel="m" * 20, status="ok", reason="", objects=981)
    ledger.record_builds([mended])
    ledger.close()
    rows = [row for row in read_kernels((), url) if row.variant == FAILED.variant]
    assert [(row.status, row.objects) for row in rows] == [("ok", 981)]


def test_a_table_has_a_line_for_each_variant_and_its_reason(url: str) -> None:
    head, _, *lines = kernels_as_markdown(read_kernels((), url)).splitlines()
    assert [line.count(" | ") for line in lines] == [head.count(" | ")] * 4
    built, panics, failed, refused = lines
    assert "| 981 | 7 | 10 min | 4096 KiB | 2 ok | 2 |" in built
    assert "1 failed | – | panic: No working init found |" in panics
    assert "failed: no memory log: x" in failed
    assert "refused: needs clang \\| lld" in refused


def test_a_terminal_shows_by_which_keys_others_find_a_kernel(url: str) -> None:
    shown = io.StringIO()
    print_kernels(read_kernels((), url), Console(file=shown, width=120))
    lines = shown.getvalue().splitlines()
    (built,) = (line for line in lines if " 981 " in line)
    assert built.split()[0] == BUILT.kernel[:12]
    assert any(line.split()[:1] == ["–"] and "refused:" in line for line in lines)


def test_a_ledger_without_builds_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(f"sqlite:///{path}").close()
    for statement in ("select 1", "drop table builds"):
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        with pytest.raises(UserError, match="holds no builds yet"):
            read_kernels((), f"sqlite:///{path}")


def test_studies_without_builds_are_told(url: str) -> None:
    with pytest.raises(UserError, match="no builds of a study 'x' in the ledger; it has lto, oth"):
        read_kernels(["x"], url)
