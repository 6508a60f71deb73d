# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of people's own harnesses, recognised by content; every refusal is a sentence."""

from kernsmith.harness.reading import Asked, HarnessReading, read_harness
from kernsmith.harness.recognition import is_structured, names, recognise

__all__ = ["Asked", "HarnessReading", "is_structured", "names", "read_harness", "recognise"]
