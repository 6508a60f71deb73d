# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact branch counts of a kernel, and what is made of them."""

from kernsmith.profile.calls import call_lines
from kernsmith.profile.counts import (
    BranchCounts,
    is_exact,
    merge_counts,
    merge_files,
    read_counts,
    write_counts,
)
from kernsmith.profile.maker import ProfileMaker, find_profile_maker

__all__ = [
    "BranchCounts",
    "ProfileMaker",
    "call_lines",
    "find_profile_maker",
    "is_exact",
    "merge_counts",
    "merge_files",
    "read_counts",
    "write_counts",
]
