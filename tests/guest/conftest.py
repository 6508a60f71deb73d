# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.guest import guest_program
from kernsmith.paths import shipped


@pytest.fixture(scope="session")
def program() -> Path:
    """The guest program, up to date with its sources."""
    process.run(["make", "-C", shipped("guest")], log=None, timeout=300)
    return guest_program()
