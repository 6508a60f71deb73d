# SPDX-License-Identifier: GPL-2.0-or-later
"""The word for a config is taken apart in one way, wherever it stands."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.study import Study
from kernsmith.study.config_word import parse_config_word
from kernsmith.study.factors import LevelError, find_factor
from kernsmith.study.file import located, read_study, study_from_tables
from kernsmith.study.places import paths_in, without_folders
from kernsmith.study.words import read_variant


@pytest.mark.parametrize(
    ("text", "kind", "name", "version", "modules"),
    [
        ("micro", "file", "micro", "", ""),
        ("./running", "file", "./running", "", ""),
        ("my+lsmod:config", "file", "my+lsmod:config", "", ""),
        ("running", "running", "", "", ""),
        ("running+lsmod:/proc/modules", "running", "", "", "/proc/modules"),
        ("debian:cloud-amd64", "debian", "cloud-amd64", "", ""),
        ("debian:amd64@6.12", "debian", "amd64", "6.12", ""),
        ("debian:amd64@6.12+lsmod:a+b", "debian", "amd64", "6.12", "a+b"),
    ],
)
def test_words_are_read_and_written_back(
    text: str, kind: str, name: str, version: str, modules: str
) -> None:
    word = parse_config_word(text)
    assert (word.kind, word.name, word.version, word.modules) == (kind, name, version, modules)
    assert str(word) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must not be empty"),
        ("debian:", "write it as debian:FLAVOUR, as in debian:cloud-amd64"),
        ("debian:amd64@7", "debian:cloud-amd64@7.3"),
        ("debian:../amd64", "write it as debian:FLAVOUR"),
        ("running+lsmod:", "needs the path of a list of modules"),
    ],
)
def test_other_words_are_one_sentence(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        parse_config_word(text)
    assert "\n" not in str(caught.value)


def test_a_study_names_them_for_all_variants_and_as_levels() -> None:
    tables = {
        "source": {"use": "debian:7.3", "config": "debian:cloud-amd64"},
        "factors": {"config": ["debian:cloud-amd64", "running", "micro"]},
    }
    study = study_from_tables(tables, origin="a file", name="s")
    assert study.config == "debian:cloud-amd64"
    tables["factors"] = {"config": ["micro", "debian:Cloud"]}
    with pytest.raises(UserError, match=r"a file: factors\.config: config 'debian:Cloud': write"):
        study_from_tables(tables, origin="a file", name="s")
    levels = read_variant("config=debian:cloud-amd64+lsmod:/a,b,march=x86-64-v3", "debian:7.3")
    assert dict(levels)["config"] == "debian:cloud-amd64+lsmod:/a,b"


def test_a_list_of_modules_lies_beside_the_study_and_has_a_short_name(tmp_path: Path) -> None:
    (tmp_path / "guest.modules").write_text("ext4 1 0 - Live 0x0\n")
    path = tmp_path / "s.toml"
    path.write_text(
        '[source]\nuse = "debian:7.3"\nconfig = "running+lsmod:guest.modules"\n'
        '[factors]\nlabel = ["a", "b"]\n'
    )
    study = read_study(path)
    assert study.config == f"running+lsmod:{tmp_path / 'guest.modules'}"
    assert paths_in(study) == (str(tmp_path / "guest.modules"),)
    assert without_folders(study).config == "running+lsmod:guest.modules"


def test_a_folder_in_the_place_of_a_flavour_is_none() -> None:
    with pytest.raises(LevelError):
        find_factor("config").check("debian:a/b")
    study = Study(source="debian:7.3", config="debian:amd64", factors=())
    assert located(study, Path("/")) == replace(study)
    assert parse_config_word("/a/my.config").short == "my"
    assert parse_config_word("debian:cloud-amd64").short == "debian-cloud-amd64"
