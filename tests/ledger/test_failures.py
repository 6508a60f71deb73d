# SPDX-License-Identifier: GPL-2.0-or-later
"""What a database refuses after it was opened is a sentence, by its codes and not its words."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from select import select

import pytest
from sqlalchemy import Engine, create_engine, event

from kernsmith.errors import DiskFull, KernsmithError, LedgerFailed
from kernsmith.ledger import BuildRow, Ledger, RunRow, TrialRow, now

BUILD = BuildRow("demo", "v", "", "failed", "", "clang", "lld")


def trials(count: int) -> list[TrialRow]:
    return [
        TrialRow(f"{i:064x}", "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, {})
        for i in range(count)
    ]


def statements(url: str, *texts: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for each in texts:
            connection.exec_driver_sql(each)
    engine.dispose()


def refuse_builds(url: str, words: str, code: str) -> None:
    """The database itself refuses every build: in these words and, a server, with this SQLSTATE."""
    if url.startswith("sqlite"):
        refusal = f"begin select raise(abort, '{words}'); end"
        statements(url, f"create trigger refused before insert on builds {refusal}")
        return
    statements(
        url,
        "create function refuse() returns trigger language plpgsql as $$ begin"
        f" raise exception '{words}' using errcode = '{code}'; end $$",
        "create trigger refused before insert on builds execute function refuse()",
    )


def test_full_is_a_word_like_any_other(either: str) -> None:
    ledger = Ledger(either)
    refuse_builds(either, "the cup is full", "P0001")
    with pytest.raises(LedgerFailed, match="the cup is full; run the same again") as told:
        ledger.record_builds([BUILD])
    assert not isinstance(told.value, DiskFull)
    assert len(str(told.value).splitlines()) == 1
    ledger.close()


def test_a_full_disk_of_a_server_is_known_by_its_code(postgresql: str) -> None:
    ledger = Ledger(postgresql)
    refuse_builds(postgresql, "could not extend file: No space left on device", "53100")
    with pytest.raises(DiskFull, match="no space left on the disk of postgresql"):
        ledger.record_builds([BUILD])
    ledger.close()


@pytest.fixture
def small_database() -> Iterator[None]:
    """SQLite answers SQLITE_FULL beyond so many pages, as on a full disk."""

    def limit(connection: sqlite3.Connection, record: object) -> None:
        connection.execute("pragma max_page_count = 60")

    event.listen(Engine, "connect", limit)
    yield
    event.remove(Engine, "connect", limit)


@pytest.mark.usefixtures("small_database")
def test_a_full_disk_of_a_file(sqlite: str) -> None:
    ledger = Ledger(sqlite)
    with pytest.raises(DiskFull, match=r"no space left on the disk of .*ledger.sqlite"):
        ledger.record_study("s" * 64, "demo", "x" * 1_000_000, [])
    assert ledger.runs([]) == {}
    ledger.close()


def test_every_refusal_is_one_sentence(either: str) -> None:
    """Rows without what they refer to, and a table that somebody dropped."""
    ledger = Ledger(either)
    with pytest.raises(LedgerFailed, match="what is recorded stays"):
        ledger.record(RunRow("nowhere", 1, "ok", "", "", now(), 1.0, {}))
    statements(either, "drop table metrics")
    with pytest.raises(LedgerFailed, match="metrics") as told:
        ledger.runs(["t"])
    assert len(str(told.value).splitlines()) == 1
    ledger.close()


def test_a_server_that_went_away_and_came_back(postgresql: str) -> None:
    """The connection that was open is gone; the next command takes a new one by itself."""
    ledger = Ledger(postgresql)
    assert ledger.runs(["t"]) == {}
    kill = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
    statements(postgresql, kill)
    assert ledger.runs(["t"]) == {}
    statements(
        postgresql,
        "create function leave() returns trigger language plpgsql as $$ begin"
        " perform pg_terminate_backend(pg_backend_pid()); return new; end $$",
        "create trigger leaves before insert on builds execute function leave()",
    )
    with pytest.raises(LedgerFailed, match="see that its server runs"):
        ledger.record_builds([BUILD])
    ledger.close()


def test_a_damaged_file(sqlite: str, tmp_path: Path) -> None:
    ledger = Ledger(sqlite)
    ledger.record_study("s" * 64, "demo", "", [(row, "v", 0, i) for i, row in enumerate(trials(9))])
    ledger.close()
    for log in tmp_path.glob("*-wal"):
        log.unlink()
    file = tmp_path / "ledger.sqlite"
    content = bytearray(file.read_bytes())
    ledger = Ledger(sqlite)
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(LedgerFailed, match="put a copy of it back"):
        ledger.runs(["t"])
    ledger.close()


def test_a_password_is_not_shown() -> None:
    with pytest.raises(KernsmithError, match="cannot open the ledger") as told:
        Ledger("postgresql+psycopg://kernsmith:secret@/postgres?host=/nowhere")
    assert "secret" not in str(told.value)


def test_a_long_reason_is_recorded_once(either: str) -> None:
    """Error messages of a build, that no compression makes short enough for an index."""
    reason = "\n".join(f"error: {number**9:x} undeclared" for number in range(4000))
    failed = BuildRow("demo", "v", "", "failed", reason, "clang", "lld")
    ledger = Ledger(either)
    for _ in range(2):
        ledger.record_builds([failed])
    ledger.close()
    with create_engine(either).connect() as connection:
        assert connection.exec_driver_sql("select reason from builds").scalars().all() == [reason]


READER = """
import sys
from kernsmith.ledger import Ledger
ledger = Ledger(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
print(ledger.runs(["t"]), ledger.typical_seconds("tcg"), flush=True)
"""


def test_who_reads_does_not_wait_for_who_writes(sqlite: str, tmp_path: Path) -> None:
    """One process holds the write lock; another one reads meanwhile what was there before."""
    Ledger(sqlite).close()
    writer = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    command = [sys.executable, "-c", READER, sqlite]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
        writer.execute("begin immediate")
        reader.stdin.write("go\n")
        reader.stdin.flush()
        answered, _, _ = select([reader.stdout], [], [], 30)
        writer.execute("rollback")
    assert answered, "the reader waited for the writer"
    writer.close()


def test_a_damaged_row_is_a_sentence(sqlite: str) -> None:
    ledger = Ledger(sqlite)
    (trial,) = trials(1)
    ledger.add_trial(trial)
    ledger.record(RunRow(trial.digest, 1, "ok", "", "", now(), 1.0, {}))
    statements(sqlite, "update runs set provenance = '{half of'")
    with pytest.raises(LedgerFailed, match=r"a row is damaged: it holds '\{half of'.*--ledger"):
        ledger.runs([trial.digest])
    with pytest.raises(LedgerFailed, match="a row is damaged"):
        ledger.typical_seconds("tcg")
    ledger.close()
