# SPDX-License-Identifier: GPL-2.0-or-later
"""Open a ledger's database, and bring an older one up to date."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    create_engine,
    event,
    func,
    inspect,
    select,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from kernsmith.errors import KernsmithError, LedgerFailed, UserError
from kernsmith.ledger.failures import first_line, in_words, shown, told
from kernsmith.ledger.schema import BUILDS, METADATA, STUDIES

# Any number that every kernsmith takes: who brings a database up to date holds this lock.
_UPDATE_LOCK = 0x6B65726E
# Seconds that a SQLite ledger is waited for.
_PATIENCE = 60


@dataclass(frozen=True)
class Database:
    """An open database. Transactions raise what :func:`kernsmith.ledger.failures.told` lists."""

    url: str
    engine: Engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees what was there when it began."""
        with told(self.url), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that adds rows: all of them or, on an error, none."""
        with told(self.url), _to_write(self.engine).begin() as connection:
            yield connection

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()


def open_database(url: str, *, create: bool = True) -> Database:
    """A ledger's database, with all tables, columns and indexes of the schema.

    create: make a ledger where there is none.

    A ledger that is only read may be a file that this user cannot write to.

    Raises:
        UserError: no such database, or it cannot be opened.
        DiskFull: no space where the database is.
    """
    what = "open" if create else "read"
    try:
        parsed = make_url(url) if create else _as_it_is(make_url(url))
        if create and parsed.get_backend_name() == "sqlite" and parsed.database:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed, pool_pre_ping=True)
        if parsed.get_backend_name() == "sqlite":
            event.listen(engine, "connect", _tune_to_write if create else _tune_to_read)
            event.listen(engine, "begin", _begin)
        if not create and not inspect(engine).has_table(STUDIES.name):
            raise UserError(f"the ledger {shown(url)} holds no study yet")
        _bring_up_to_date(engine)
    except DBAPIError as error:
        raise _not_opened(in_words(error, url), what) from None
    except (SQLAlchemyError, OSError, ModuleNotFoundError) as error:
        raise UserError(f"cannot {what} the ledger {shown(url)}: {first_line(error)}") from None
    return Database(url, engine)


def _as_it_is(url: URL) -> URL:
    """How to read an SQLite file in a folder that this user cannot write to: it never changes.

    SQLite would make files beside it (sqlite.org/wal.html, read-only databases). Where a log lies
    there, somebody writes: that file is read together with the log, or not at all.
    """
    if url.get_backend_name() != "sqlite" or not url.database:
        return url
    file = Path(url.database).resolve()
    log = file.with_name(f"{file.name}-wal")
    if not file.is_file() or os.access(file.parent, os.W_OK) or log.exists():
        return url
    query = {**url.query, "mode": "ro", "immutable": "1", "uri": "true"}
    return url.set(database=file.as_uri(), query=query)


def _not_opened(error: KernsmithError, what: str) -> KernsmithError:
    if not isinstance(error, LedgerFailed):
        return error
    return UserError(f"cannot {what} the ledger {error.ledger}: {error.reason}; {error.remedy}")


def _to_write(engine: Engine) -> Engine:
    return engine.execution_options(kernsmith_writes=True)


def _bring_up_to_date(engine: Engine) -> None:
    """Add what the schema has and the database lacks; the rows that are there stay as they are."""
    with engine.connect() as connection:
        if not _lacking_tables(connection) and not _lacking_columns(connection):
            return
    with _to_write(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_UPDATE_LOCK)))
        METADATA.create_all(connection)
        for column in _lacking_columns(connection):
            _add_column(connection, column)
        if connection.dialect.name == "postgresql":
            _drop_uniqueness_of_text(connection)


def _lacking_tables(connection: Connection) -> set[str]:
    return set(METADATA.tables) - set(inspect(connection).get_table_names())


def _lacking_columns(connection: Connection) -> list[Column[Any]]:
    inspector = inspect(connection)
    return [
        column
        for name, table in METADATA.tables.items()
        for known in [{each["name"] for each in inspector.get_columns(name)}]
        for column in table.columns
        if column.name not in known
    ]


def _add_column(connection: Connection, column: Column[Any]) -> None:
    table = column.table
    definition = str(CreateColumn(column).compile(dialect=connection.dialect))
    for key in column.foreign_keys:
        definition += f" REFERENCES {key.column.table.name} ({key.column.name})"
    connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
    for index in METADATA.tables[table.name].indexes:
        if column.name in index.columns:
            index.create(connection)


def _drop_uniqueness_of_text(connection: Connection) -> None:
    # A row of PostgreSQL's B-trees holds at most 2704 bytes; the log of a failed build is longer.
    # SQLite has no such limit, and cannot drop a constraint: the old one does no harm there.
    for constraint in inspect(connection).get_unique_constraints(BUILDS.name):
        if "reason" in constraint["column_names"]:
            connection.exec_driver_sql(
                f'ALTER TABLE {BUILDS.name} DROP CONSTRAINT "{constraint["name"]}"'
            )


def _tune_to_write(connection: Any, record: Any) -> None:
    cursor = _tuned(connection)
    _write_ahead(cursor)
    cursor.close()


def _tune_to_read(connection: Any, record: Any) -> None:
    cursor = _tuned(connection)
    try:
        _write_ahead(cursor)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
            raise
    cursor.close()


def _tuned(connection: sqlite3.Connection) -> sqlite3.Cursor:
    # The driver must not open transactions by itself: `_begin` below does.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"pragma busy_timeout = {1000 * _PATIENCE}")
    cursor.execute("pragma synchronous = normal")
    cursor.execute("pragma foreign_keys = on")
    return cursor


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Wait for others that open a new ledger: this pragma does not heed the busy timeout."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            cursor.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _begin(connection: Connection) -> None:
    # Who will write takes the write lock at once, so that two processes wait for each other instead
    # of failing half-way. Who only reads sees what was there at the beginning, and waits for none.
    writes = connection.get_execution_options().get("kernsmith_writes", False)
    connection.exec_driver_sql("begin immediate" if writes else "begin")
