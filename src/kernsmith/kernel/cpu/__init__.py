# SPDX-License-Identifier: GPL-2.0-or-later
"""Processors as compilers know them: the catalogue, this machine's own, choices for Kconfig.

All of it is x86-64's: CPUID, the levels of the psABI, `arch/x86`. Another architecture has a
catalogue of its own beside this one, or none.
"""
