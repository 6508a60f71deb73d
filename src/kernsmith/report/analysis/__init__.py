# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith analyze` shows: text, page, exports."""
