# SPDX-License-Identifier: GPL-2.0-or-later
"""Make, evaluate and optimise function orders."""

from kernsmith.layout.drawn import Functions, drawn_order, functions_of, margins_together
from kernsmith.layout.evaluate import ALGORITHMS, Costs, Evaluator
from kernsmith.layout.linkmap import Arrangement, Text, movable_data, read_link_map, text_files
from kernsmith.layout.order import (
    OrderFile,
    layout_name,
    make_order,
    random_margins,
    random_order,
    read_order,
)
from kernsmith.layout.places import PlacedOrder, Room, place_together, rooms_of
from kernsmith.layout.traced import MOST_BLOCKS, TracedText, TraceFile

__all__ = [
    "ALGORITHMS",
    "MOST_BLOCKS",
    "Arrangement",
    "Costs",
    "Evaluator",
    "Functions",
    "OrderFile",
    "PlacedOrder",
    "Room",
    "Text",
    "TraceFile",
    "TracedText",
    "drawn_order",
    "functions_of",
    "layout_name",
    "make_order",
    "margins_together",
    "movable_data",
    "place_together",
    "random_margins",
    "random_order",
    "read_link_map",
    "read_order",
    "rooms_of",
    "text_files",
]
