# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact branch counts of a kernel, and what is made of them."""

from kernsmith.profile.autofdo import make_autofdo, usable_profile
from kernsmith.profile.counts import (
    BranchCounts,
    is_counts,
    merge_counts,
    read_counts,
    write_counts,
)

__all__ = [
    "BranchCounts",
    "is_counts",
    "make_autofdo",
    "merge_counts",
    "read_counts",
    "usable_profile",
    "write_counts",
]
