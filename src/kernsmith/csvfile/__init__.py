# SPDX-License-Identifier: GPL-2.0-or-later
"""From CSV files as people have them to samples; every refusal is a sentence."""

from kernsmith.csvfile.reading import Columns, Reading, read_samples
from kernsmith.csvfile.summaries import read_summaries

__all__ = ["Columns", "Reading", "read_samples", "read_summaries"]
