# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's file system and the catalogue of workloads."""

from kernsmith.guest.initramfs import build_initramfs, build_layer, digest
from kernsmith.guest.workloads import (
    Catalogue,
    UnknownWorkload,
    Workload,
    guest_program,
    load_catalogue,
    module_loader,
)

__all__ = [
    "Catalogue",
    "UnknownWorkload",
    "Workload",
    "build_initramfs",
    "build_layer",
    "digest",
    "guest_program",
    "load_catalogue",
    "module_loader",
]
