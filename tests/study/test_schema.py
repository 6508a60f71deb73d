# SPDX-License-Identifier: GPL-2.0-or-later
"""The schema that editors read says what the program says."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kernsmith.errors import UserError
from kernsmith.paths import shipped
from kernsmith.study.file import study_from_tables
from kernsmith.study.schema import schema_text, study_schema

VALIDATOR = Draft202012Validator(study_schema())


def tables(text: str) -> dict[str, Any]:
    return tomllib.loads("[source]\nuse = 'x'\n" + text)


def test_the_shipped_schema_is_what_the_program_generates() -> None:
    shown = shipped("docs", "study.schema.json").read_text(encoding="utf-8")
    assert shown == schema_text(), (
        "stale: python -m kernsmith.study.schema > docs/study.schema.json"
    )
    Draft202012Validator.check_schema(study_schema())


@pytest.mark.parametrize("path", sorted(shipped("studies").rglob("*.toml")), ids=lambda p: p.stem)
def test_shipped_studies_are_valid_by_the_schema(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text()))


@pytest.mark.parametrize(
    "text",
    [
        "[factors]\nalignment = ['none', 32]\nCONFIG_HZ = [100, 250]\nlto = ['none', 'thin']",
        "[factors]\nflags_inline = ['none', '-fno-inline']\nmarch = ['default', 'znver3']",
        "[design]\nlayouts = 0\nuntil = 0.5",
        "[factors]\nprofile = ['autofdo']\nhot = [0.9, '0.99']",
    ],
)
def test_what_the_program_takes_the_schema_takes(text: str) -> None:
    assert study_from_tables(tables(text), origin="s.toml", name="s")
    VALIDATOR.validate(tables(text))


@pytest.mark.parametrize(
    "text",
    [
        "[factors]\nalignment = [48]",
        "[factors]\nlto = ['fat']",
        "[factors]\nmarsh = ['default']",
        "[factors]\nlto = ['none', 'none']",
        "[factors]\nprofile = []",
        "[design]\nlayouts = -1",
        "[desing]\nlayouts = 1",
    ],
)
def test_what_the_program_refuses_the_schema_refuses(text: str) -> None:
    with pytest.raises(UserError):
        study_from_tables(tables(text), origin="s.toml", name="s")
    assert not VALIDATOR.is_valid(tables(text))
