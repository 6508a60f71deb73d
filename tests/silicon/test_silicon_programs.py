# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs: what is made of a package on this machine before it is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.errors import ProcessFailed
from kernsmith.silicon.programs import Foreign, prepare_source, program_tables


def package(tmp_path: Path, *commands: str) -> tuple[Path, Foreign]:
    root = tmp_path / "tree"
    root.mkdir()
    return root, Foreign(debian="one", files=("*.c",), prepare=commands, makes=("config.h",))


def test_a_package_is_prepared_once_and_again_when_its_commands_change(tmp_path: Path) -> None:
    root, foreign = package(tmp_path, "sh -c 'echo made >> config.h'")
    said: list[str] = []
    for _ in range(2):
        prepare_source(root, foreign, lambda text, share: said.append(text))
    assert (root / "config.h").read_text() == "made\n"
    assert said == ["preparing one: sh"]
    other = foreign.model_copy(update={"prepare": ("sh -c 'echo anew > config.h'",)})
    prepare_source(root, other)
    assert (root / "config.h").read_text() == "anew\n"


def test_a_package_that_was_not_prepared_to_its_end_is_prepared_again(tmp_path: Path) -> None:
    root, foreign = package(tmp_path, "sh -c 'echo made >> config.h'", "test -e allowed")
    with pytest.raises(ProcessFailed):
        prepare_source(root, foreign)
    (root / "allowed").touch()
    prepare_source(root, foreign)
    assert (root / "config.h").read_text() == "made\nmade\n"


def test_perl_is_told_what_the_c_library_has_by_its_own_configure() -> None:
    (perl,) = program_tables()["perl"].source
    assert perl.prepare[0].startswith("sh ./Configure -des")
    assert "config.h" in perl.makes
