# SPDX-License-Identifier: GPL-2.0-or-later
"""What a database refuses, as errors that say what to do: by its codes, never by its words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from kernsmith.errors import DiskFull, KernsmithError, LedgerFailed

# PostgreSQL, appendix A: error codes. A transaction is broken off with the last two when another
# one was faster, or when each waits for the other.
_DISK_FULL = "53100"
_READ_ONLY = ("25006", "42501")
_OTHER_FASTER = ("40001", "40P01")

_WAIT = "another process writes to it for more than a minute: wait for that, and run the same again"
_PERMIT = "let this user write to it, or choose another one with --ledger"
_SHOWN = 40
_DAMAGED = "put a copy of it back, or begin another one with --ledger"
_UNREACHED = "see that its server runs and is reached, and run the same again"


class Clash(LedgerFailed):
    """Another process added the same rows first: look again."""


@contextmanager
def told(url: str) -> Iterator[None]:
    """Database errors inside become sentences.

    Raises:
        DiskFull: no space where the database is.
        Clash: rows are there already, or another transaction was faster.
        LedgerFailed: anything else.
    """
    try:
        yield
    except SQLAlchemyError as error:
        raise in_words(error, url) from error
    except JSONDecodeError as error:  # of a column that holds JSON
        reason = f"a row is damaged: it holds {error.doc[:_SHOWN]!r}, which is no JSON"
        raise LedgerFailed(shown(url), reason, _DAMAGED) from error


def shown(url: str) -> str:
    """A database's URL without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except SQLAlchemyError:
        return url


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def in_words(error: SQLAlchemyError, url: str) -> KernsmithError:
    """A database error as what `told` raises."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    state = getattr(cause, "sqlstate", None) or ""
    # The low byte is the primary code: https://sqlite.org/rescode.html#extrc
    code = (getattr(cause, "sqlite_errorcode", None) or 0) & 0xFF
    if state == _DISK_FULL or code == sqlite3.SQLITE_FULL:
        return DiskFull(shown(url))
    if isinstance(error, IntegrityError) or state in _OTHER_FASTER:
        return Clash(shown(url), first_line(cause), "run the same again")
    remedy = "run the same again"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        remedy = _WAIT
    elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or state in _READ_ONLY:
        remedy = _PERMIT
    elif code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        remedy = _DAMAGED
    elif not code and (not state or state.startswith(("08", "57"))):
        remedy = _UNREACHED
    return LedgerFailed(shown(url), first_line(cause), remedy)
