# SPDX-License-Identifier: GPL-2.0-or-later
"""A package proved: installed into a fresh Debian root, booted from a disk by firmware."""

from kernsmith.proof.proof import Proof, prove

__all__ = ["Proof", "prove"]
