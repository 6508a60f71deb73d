# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of coverage: an index, and one page for each source file."""
