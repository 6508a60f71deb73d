# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith report` shows of a study in the ledger."""
