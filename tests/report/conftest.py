# SPDX-License-Identifier: GPL-2.0-or-later
"""The browser that pages are opened in."""

import shutil
from collections.abc import Iterator

import pytest
from chromium import Chromium


@pytest.fixture
def chromium() -> Iterator[Chromium]:
    """Debian's headless Chromium; the test is skipped, with the reason, where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed; get it with: apt-get install chromium")
    with Chromium(program) as browser:
        yield browser
