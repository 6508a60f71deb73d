# SPDX-License-Identifier: GPL-2.0-or-later
"""Ledgers of earlier versions open, are brought up to date, and keep what they hold."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from kernsmith.ledger import BootRow, Ledger, RunRow, now
from kernsmith.ledger.kernels import read_kernels
from kernsmith.ledger.schema import METADATA
from kernsmith.ledger.table import read_study_table

BOOT = BootRow(
    session="s" * 20, machine="tcg", image="ce-default", kernel="ce", layout="default",
    command=("qemu-system-x86_64", "-smp", "1"), console="", started_at=now(),
)  # fmt: skip


@pytest.fixture
def earlier(either: str) -> str:
    """The URL of a ledger that an earlier kernsmith made."""
    engine = create_engine(either)
    statements = Path(__file__).with_name("earlier.sql").read_text()
    if engine.dialect.name == "sqlite":
        statements = statements.replace("SERIAL", "INTEGER")
    with engine.begin() as connection:
        for statement in statements.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
    engine.dispose()
    return either


def test_what_it_holds_is_read(earlier: str) -> None:
    """Also by commands that only read, before any study was run with this version."""
    (row,) = read_study_table("march", earlier).plan
    assert row.run is not None
    assert row.run.metrics == {"model_cycles": (1000.0, "cycles")}
    assert [build.reason for build in read_kernels((), earlier)] == ["no memory"]
    ledger = Ledger(earlier)
    assert ledger.runs(["7a"])["7a"].metrics == {"model_cycles": (1000.0, "cycles")}
    assert ledger.runs(["7a"])["7a"].boot is None
    assert ledger.runs(["7a"])["7a"].console == "/home/x/.cache/kernsmith/runs/1/console.log"
    ledger.close()


def test_it_is_written_on(earlier: str) -> None:
    ledger = Ledger(earlier)
    boot = ledger.record_boot(BOOT)
    attempt = ledger.claim("7a")
    assert attempt == 2
    run = RunRow("7a", attempt, "ok", "", "", now(), 1.0, {"m": (1.0, "")}, boot=boot)
    ledger.record(run)
    assert ledger.runs(["7a"]) == {"7a": run}
    ledger.close()
    assert [row.run and row.run.boot for row in read_study_table("march", earlier).plan] == [boot]


def test_it_ends_as_a_new_one(earlier: str, tmp_path: Path) -> None:
    """Tables, columns and indexes; opened by several at once, each of which may be the first."""
    with ThreadPoolExecutor(4) as pool:
        for ledger in pool.map(Ledger, [earlier] * 4):
            ledger.close()
    inspector = inspect(create_engine(earlier))
    for name, table in METADATA.tables.items():
        columns = {column["name"] for column in inspector.get_columns(name)}
        indexes = {index["name"] for index in inspector.get_indexes(name)}
        assert columns == {column.name for column in table.columns}
        assert indexes >= {index.name for index in table.indexes}
