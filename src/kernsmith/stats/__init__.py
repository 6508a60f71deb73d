# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to verdicts; knows nothing of kernels."""
