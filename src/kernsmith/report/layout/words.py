# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a layout's costs is shown."""

SHOWN = ("model_cycles", "l1i_misses", "l2i_misses", "itlb_misses", "branch_mispredictions")
