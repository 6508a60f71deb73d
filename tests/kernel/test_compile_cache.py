# SPDX-License-Identifier: GPL-2.0-or-later
"""ccache counts what it compiled and what it had."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernsmith.kernel.compile_cache import cache_environment, compiled_and_found


@pytest.mark.skipif(not shutil.which("ccache"), reason="ccache is not installed")
def test_the_second_compilation_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    source, log = tmp_path / "a.c", tmp_path / "log"
    source.write_text("int a(void) { return 1; }\n")
    settings = {name: value for name, value in cache_environment().items() if value}
    environment = os.environ | settings | {"CCACHE_STATSLOG": str(log)}
    command = ["ccache", "gcc", "-c", "a.c", "-o", "a.o"]
    for expected in ((1, 0), (1, 1), (1, 2)):
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        assert compiled_and_found(log) == expected


def test_without_a_log_nothing_is_known(tmp_path: Path) -> None:
    assert compiled_and_found(tmp_path / "none") is None
