# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, charts and one self-contained HTML page; computes nothing that a reader could dispute."""
