# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study shows: terminal, page, Markdown."""
