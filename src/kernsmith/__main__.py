# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m kernsmith` is the command `kernsmith`."""

from kernsmith.cli import main

main()
