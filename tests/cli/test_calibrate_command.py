# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith cpu calibrate`: what cannot be calibrated is said before anything is timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpu_models import PENALTIES
from kernsmith import paths
from kernsmith.cli import main

MODEL = str(paths.shipped("cpus/emeraldrapids.toml"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([str(PENALTIES)], "it cannot be calibrated"),
        ([MODEL, "--program", "lua"], "those that judge do not calibrate"),
        ([MODEL, "--build", "O2"], "calibrate needs a --build beside the baseline"),
        ([MODEL, "--rounds", "0"], "calibrate needs --rounds 1 or more"),
        ([MODEL, "--program", "emacs"], "there is no program 'emacs'"),
        (["no-such-model.toml"], "there is no cpu model 'no-such-model.toml'"),
    ],
)
def test_what_cannot_be_calibrated_is_said(
    words: list[str], sentence: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = tmp_path / "calibrated.toml"
    with pytest.raises(SystemExit) as ended:
        main(["cpu", "calibrate", *words, "-o", str(output)])
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert sentence in " ".join(said.split())
    assert "Traceback" not in said
    assert not output.exists()
