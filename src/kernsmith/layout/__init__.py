# SPDX-License-Identifier: GPL-2.0-or-later
"""Make function orders."""

from kernsmith.layout.order import Ranks, layout_name, make_order, random_order

__all__ = ["Ranks", "layout_name", "make_order", "random_order"]
