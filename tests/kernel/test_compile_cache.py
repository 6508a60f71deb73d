# SPDX-License-Identifier: GPL-2.0-or-later
"""ccache counts what it compiled and what it had."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernsmith.kernel.compile_cache import cache_environment, compiled_and_found


@pytest.mark.skipif(not shutil.which("ccache"), reason="ccache is not installed")
@pytest.mark.parametrize(("alone", "compiled_in_all"), [(False, 2), (True, 3)])
def test_an_object_is_compiled_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool, compiled_in_all: int
) -> None:
    """Alone, a header that says something else is enough, even if nothing comes of it."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    log = tmp_path / "log"
    (tmp_path / "a.c").write_text('#include "symbols.h"\nint a(void) { return USED; }\n')
    settings = cache_environment("gcc", alone=alone) | {"CCACHE_STATSLOG": str(log)}
    environment = os.environ | {name: value for name, value in settings.items() if value}
    command = ["ccache", "gcc", "-Wp,-MMD,a.d", "-c", "a.c", "-o", "a.o"]
    used = "#define USED 1\n"
    for symbols in (used, used, used.replace("1", "2"), used + "#define NEVER_USED 1\n", used):
        (tmp_path / "symbols.h").write_text(symbols)
        os.utime(tmp_path / "symbols.h", (0, 0))
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert compiled_and_found(log) == (compiled_in_all, 5 - compiled_in_all)


def test_without_a_log_nothing_is_known(tmp_path: Path) -> None:
    assert compiled_and_found(tmp_path / "none") is None
