# SPDX-License-Identifier: GPL-2.0-or-later
"""The same ledger on a real PostgreSQL server, by its URL."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.ledger import Ledger, RunRow, TrialRow, now


def server_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.fixture
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    programs = server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    if os.getuid() != 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as this user")
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    folder = Path(tmp_path_factory.mktemp("postgresql"))
    for parent in (folder, *folder.parents[:3]):
        if parent.stat().st_uid == os.getuid() and str(parent) != "/tmp":
            parent.chmod(0o755)
    shutil.chown(folder, user)

    def run(*words: str) -> None:
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        command = [*(become if os.getuid() == 0 else []), *words]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)

    data = folder / "data"
    run(f"{programs}/initdb", "-D", str(data), "-A", "trust", "-U", "kernsmith")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
    run(f"{programs}/pg_ctl", "-D", str(data), "-o", options, "-w", "start",
        "-l", str(folder / "log"))  # fmt: skip
    try:
        yield f"postgresql+psycopg://kernsmith@/postgres?host={folder}"
    finally:
        run(f"{programs}/pg_ctl", "-D", str(data), "-m", "immediate", "stop")


def test_claims_and_runs(url: str) -> None:
    first, second = Ledger(url), Ledger(url)
    row = TrialRow("t" * 64, "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, {"a": [1]})
    for ledger in (first, second):
        ledger.record_study("s" * 64, "demo", "[source]", [(row, "v", 0, 0)])
    assert first.claim(row.digest) == 1
    assert second.claim(row.digest) is None
    run = RunRow(row.digest, 1, "ok", "", "", now(), 0.5, {"m": (2.0**52 + 1, "cycles")}, {"c": 1})
    first.record(run)
    assert second.runs([row.digest]) == {row.digest: run}
    assert second.typical_seconds("tcg") == {"pipe": 0.5}
    first.close()
    second.close()


def test_processes_that_start_one_study_at_once(url: str) -> None:
    """Both add the same rows; none fails, and none is there twice."""
    rows = [
        TrialRow(f"{i:064x}", "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, {})
        for i in range(200)
    ]
    plan = [(row, "v", 0, position) for position, row in enumerate(rows)]

    def start(_: int) -> int:
        ledger = Ledger(url)
        ledger.record_study("s" * 64, "demo", "[source]", plan)
        claimed = sum(ledger.claim(row.digest) is not None for row in rows)
        ledger.close()
        return claimed

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(start, range(4))) == len(rows)


def test_a_server_that_does_not_answer_is_one_sentence() -> None:
    with pytest.raises(UserError, match="cannot open the ledger"):
        Ledger("postgresql+psycopg://kernsmith@/postgres?host=/nowhere")
