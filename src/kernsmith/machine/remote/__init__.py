# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines elsewhere: the connection, what they are like, and how they are given another kernel."""
