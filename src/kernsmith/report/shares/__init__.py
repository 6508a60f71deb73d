# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search for the objects that bring most of a difference shows."""
