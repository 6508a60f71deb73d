# SPDX-License-Identifier: GPL-2.0-or-later
"""What this host can do, and the command that mends what is missing."""

from kernsmith.doctor.checks import LIMITED, MISSING, OK, Finding, branch_records, examine

__all__ = ["LIMITED", "MISSING", "OK", "Finding", "branch_records", "examine"]
