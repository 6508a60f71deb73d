# SPDX-License-Identifier: GPL-2.0-or-later
"""Study files: what is written is read back; mistakes name the file, the key, what is allowed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.paths import shipped
from kernsmith.study.file import read_study, write_study

GOOD = """
[source]
use = "debian:7.3"
config = "lab"
[factors]
alignment = ["none", 32, 64]
CONFIG_CRYPTO_PCRYPT = [false, true]
[design]
layouts = 4
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text)
    return path


def test_a_study_file_is_read_and_written_back(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, GOOD))
    assert study.factors == (
        ("alignment", ("none", "32", "64")),
        ("CONFIG_CRYPTO_PCRYPT", ("n", "y")),
    )
    assert study.design.layouts == 4
    again = read_study(written(tmp_path, write_study(study)))
    assert again == study
    assert again.digest == study.digest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[source]\nuse='x'\n[desing]\nlayouts=1", "unknown key desing: allowed are source, mach"),
        ("[source]\nuse='x'\n[design]\nlayout=1", "unknown key design.layout: .*layouts"),
        ("[design]\nlayouts=1", "source: field required"),
        ("[source]\nuse='x'\n[design]\nlayouts=-1", "design.layouts: .*greater than or equal to 0"),
        ("[source]\nuse='x'\n[factors]\nprofile=['none','none']", "names a level twice"),
        ("[source]\nuse='x'\n[factors]\nprofile=[]", "factors.profile"),
        ("[source", "is not TOML"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserError, match=told) as caught:
        read_study(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_study(tmp_path / "none.toml")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_a_study_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "s.toml"
    path.write_bytes(data)
    with pytest.raises(UserError):
        read_study(path)


@pytest.mark.parametrize("path", sorted(shipped("studies").rglob("*.toml")), ids=lambda p: p.stem)
def test_shipped_studies_are_valid(path: Path) -> None:
    assert read_study(path).factors
