# SPDX-License-Identifier: GPL-2.0-or-later
"""A study of the ledger: its plan, with what came out."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.engine import URL, make_url

from kernsmith.errors import UserError
from kernsmith.ledger import Ledger, RunRow, TrialRow, now
from kernsmith.ledger.table import read_study_table


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Two studies: an old one without runs, and one of two variants in three layouts."""
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    ledger = Ledger(url)
    ledger.record_study("e" * 64, "empty", "[study]", [(_trial(0, "base", 0), "base", 0, 0)])
    names = ("base", "afdo")
    plan = [
        (_trial(10 * layout + index, name, layout), name, layout, 2 * layout + index)
        for layout in range(1, 4)
        for index, name in enumerate(names)
    ]
    ledger.record_study("f" * 64, "lab", "[study]", plan)
    for trial, name, layout, _ in plan[:-1]:
        attempt = ledger.claim(trial.digest)
        assert attempt is not None
        cycles = 1000.0 + layout if name == "base" else 900.0 + layout
        status = "failed" if (name, layout) == ("base", 3) else "ok"
        metrics = {"model_cycles": (cycles, "cycles"), "seconds": (cycles / 1e3, "s")}
        ledger.record(RunRow(trial.digest, attempt, status, "", "", now(), 1.0, metrics))
    ledger.close()
    return url


def _trial(number: int, variant: str, layout: int) -> TrialRow:
    return TrialRow(
        digest=f"{number:064x}", kernel="k" * 64, variant=variant, layout=f"random:1.{layout}",
        workload="pipe", machine="tcg", cpu="skylake", replicate=0, conditions={},
    )  # fmt: skip


def test_finished_runs_in_the_order_of_the_plan(url: str) -> None:
    table = read_study_table("lab", url)
    cycles = [
        (row.variant, row.trial.layout, row.run.metrics["model_cycles"])
        for row in table.plan
        if row.run is not None and row.run.ok
    ]
    assert cycles == [
        ("base", "random:1.1", (1001.0, "cycles")),
        ("afdo", "random:1.1", (901.0, "cycles")),
        ("base", "random:1.2", (1002.0, "cycles")),
        ("afdo", "random:1.2", (902.0, "cycles")),
    ]
    assert [row.run and row.run.status for row in table.plan][-2:] == ["failed", None]
    assert table.missing == 1
    assert table.units == {"model_cycles": "cycles", "seconds": "s"}


def test_by_name_by_digest_or_the_latest(url: str) -> None:
    assert read_study_table("f" * 5, url).name == "lab"
    assert read_study_table(None, url).name in ("lab", "empty")
    assert [row.run for row in read_study_table("empty", url).plan] == [None]


def test_studies_that_are_not_there(url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no study is called 'x' in the ledger .* it holds"):
        read_study_table("x", url)
    with pytest.raises(UserError, match=r"there is no ledger .* yet: run a study first"):
        read_study_table(None, f"sqlite:///{tmp_path}/none.sqlite")
    with pytest.raises(UserError, match="cannot read the ledger"):
        read_study_table(None, "nonsense")
    Ledger(f"sqlite:///{tmp_path}/new.sqlite").close()
    with pytest.raises(UserError, match="holds no study yet"):
        read_study_table(None, f"sqlite:///{tmp_path}/new.sqlite")


READER = """
import sys
from kernsmith.errors import KernsmithError
from kernsmith.ledger import Ledger
from kernsmith.ledger.table import read_study_table
try:
    print(read_study_table("empty", sys.argv[1]).name)
    Ledger(sys.argv[1])
except KernsmithError as error:
    print(error)
"""


def test_a_ledger_that_may_not_be_written_to_can_be_read(url: str, tmp_path: Path) -> None:
    file = Path(make_url(url).database or "")
    folder = tmp_path / "of another user? 100%"
    folder.mkdir()
    shutil.copyfile(file, folder / "ledger.sqlite")
    (folder / "ledger.sqlite").chmod(0o444)
    folder.chmod(0o555)
    as_user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    command = [*as_user, sys.executable, "-c", READER]
    where = URL.create("sqlite", database=str(folder / "ledger.sqlite"))
    told = subprocess.run([*command, str(where)], capture_output=True, text=True, check=True)
    folder.chmod(0o755)
    read, refused = told.stdout.splitlines()
    assert read == "empty"
    assert "cannot open the ledger" in refused
    assert "let this user write to it" in refused
