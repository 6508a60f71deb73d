# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU models of tests alone."""

from pathlib import Path

PENALTIES = Path(__file__).parent / "data" / "penalties.toml"
"""One whose cycles are a sum of penalties; all shipped ones are in time."""
