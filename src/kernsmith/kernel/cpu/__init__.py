# SPDX-License-Identifier: GPL-2.0-or-later
"""Processors as compilers know them: the catalogue, this machine's own, choices for Kconfig."""
