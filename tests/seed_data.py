# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw data that lies beside the project (`../shared/data`) and is read from there."""

from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


def march_file() -> Path:
    """The raw timings behind seed 000's tables; a test without them is skipped and says so."""
    return _data("march-make-bench.csv", "the raw data of seed 000")


def silicon_file() -> Path:
    """The prototype's runs of one program on a real processor and in the model; likewise."""
    return _data("silicon-prototype.csv", "the model against a processor")


def _data(name: str, what: str) -> Path:
    path = _FOLDER / name
    if not path.exists():
        pytest.skip(f"../shared/data/{name} ({what}) is not here")
    return path


def seed(name: str) -> str:
    """The text of a seed; a test without it is skipped and says so."""
    path = _FOLDER.parent / "seeds" / name
    if not path.exists():
        pytest.skip(f"../shared/seeds/{name} is not here")
    return path.read_text(encoding="utf-8")
