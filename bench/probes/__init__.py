# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops of which each does one thing over and over, of `bench/front_end.py`."""
