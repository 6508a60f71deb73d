# SPDX-License-Identifier: GPL-2.0-or-later
"""Databases for ledgers: an SQLite file, and a new database on a real PostgreSQL server."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text


def server_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def server() -> Iterator[Path]:
    """The folder of a running server: its data, and the socket to reach it by."""
    programs = server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    if os.getuid() != 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as this user")
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    # Not in pytest's folders: each pytest that starts closes them to every other user.
    with TemporaryDirectory(prefix="kernsmith-postgresql-") as name:
        folder = Path(name)
        shutil.chown(folder, user)
        folder.chmod(0o755)  # its socket is for all

        def run(*words: str) -> None:
            become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
            command = [*(become if os.getuid() == 0 else []), *words]
            subprocess.run(command, check=True, capture_output=True, cwd=folder)

        data = folder / "data"
        run(f"{programs}/initdb", "-D", str(data), "-A", "trust", "-U", "kernsmith", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        run(f"{programs}/pg_ctl", "-D", str(data), "-o", options, "-w", "start",
            "-l", str(folder / "log"))  # fmt: skip
        try:
            yield folder
        finally:
            run(f"{programs}/pg_ctl", "-D", str(data), "-m", "immediate", "stop")


@pytest.fixture
def postgresql(server: Path) -> str:
    """The URL of an empty database."""
    name = f"ledger_{uuid4().hex}"
    engine = create_engine(f"postgresql+psycopg://kernsmith@/postgres?host={server}")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"create database {name}"))
    engine.dispose()
    return f"postgresql+psycopg://kernsmith@/{name}?host={server}"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The URL of a file that is not there yet."""
    return f"sqlite:///{tmp_path}/ledger.sqlite"


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest) -> str:
    """The URL of a new database, of both kinds."""
    return str(request.getfixturevalue(request.param))
