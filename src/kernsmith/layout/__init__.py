# SPDX-License-Identifier: GPL-2.0-or-later
"""Make function orders."""

from kernsmith.layout.order import layout_name, make_order, random_order

__all__ = ["layout_name", "make_order", "random_order"]
