# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search for the objects that are to blame shows."""
