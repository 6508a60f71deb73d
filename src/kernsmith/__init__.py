# SPDX-License-Identifier: GPL-2.0-or-later
"""kernsmith forges Linux kernels for a workload and proves that they are faster."""

__version__ = "0.1.0"
