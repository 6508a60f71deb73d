# SPDX-License-Identifier: GPL-2.0-or-later
"""The database of all trials and runs. Append-only; nothing in it is ever edited."""

from kernsmith.ledger.ledger import Ledger
from kernsmith.ledger.rows import OK, BootRow, BuildRow, RunRow, TrialRow, now

__all__ = ["OK", "BootRow", "BuildRow", "Ledger", "RunRow", "TrialRow", "now"]
