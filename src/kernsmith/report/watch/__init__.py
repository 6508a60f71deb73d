# SPDX-License-Identifier: GPL-2.0-or-later
"""What the history of a source shows: a site of pages, the terminal, a comment in Markdown."""
