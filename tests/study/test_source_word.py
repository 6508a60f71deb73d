# SPDX-License-Identifier: GPL-2.0-or-later
"""The word for a source is taken apart in one way, wherever it stands."""

from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.study.file import study_from_tables
from kernsmith.study.source_word import SourceWord, parse_source
from kernsmith.study.words import read_variant


@pytest.mark.parametrize(
    ("text", "kind", "path", "revision"),
    [
        ("debian:7.3", "debian", "", "7.3"),
        ("~/linux", "folder", "~/linux", ""),
        ("a@b", "folder", "a@b", ""),
        ("linux-7.3.tar.xz", "tarball", "linux-7.3.tar.xz", ""),
        ("git:linux@v7.2", "git", "linux", "v7.2"),
        ("git:/home/me@work/linux@v7.2", "git", "/home/me@work/linux", "v7.2"),
        ("git:linux@HEAD@{1}", "git", "linux", "HEAD@{1}"),
        ("git:me@work/linux@HEAD@{2 days ago}", "git", "me@work/linux", "HEAD@{2 days ago}"),
        ("git:linux@@{u}", "git", "linux", "@{u}"),
        ("git:linux@@", "git", "linux", "@"),
    ],
)
def test_words_are_read_and_written_back(text: str, kind: str, path: str, revision: str) -> None:
    word = parse_source(text)
    assert (word.kind, word.path, word.revision) == (kind, path, revision)
    assert str(word) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must not be empty"),
        ("git:linux", "write it as git:FOLDER@REVISION"),
        ("git:@v7.2", "write it as git:FOLDER@REVISION"),
        ("git:linux@", "write it as git:FOLDER@REVISION"),
        ("git:linux@--output=x", "does not begin with '-'"),
        ("debian:seven", "two numbers, as in debian:7.3"),
        ("debian:7.3.1", "two numbers, as in debian:7.3"),
    ],
)
def test_other_words_are_one_sentence(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        parse_source(text)
    assert "\n" not in str(caught.value)


def test_a_folder_with_an_at_sign_is_the_same_one_everywhere(tmp_path: Path) -> None:
    """A study's file, the words of `compare` and a revision of it name one repository."""
    folder = tmp_path / "me@work" / "linux"
    (folder / ".git").mkdir(parents=True)
    text = "git:me@work/linux@v7.2"
    file = tmp_path / "s.toml"
    file.write_text(f'[source]\nuse = "{text}"\n')
    from kernsmith.study.file import read_study

    assert read_study(file).source == f"git:{folder}@v7.2"
    assert dict(read_variant("v7.3", text)) == {"source": "git:me@work/linux@v7.3"}
    assert str(parse_source(str(folder)).at("v7.3")) == f"git:{folder}@v7.3"


def test_what_is_not_there_stays_as_it_was_written(tmp_path: Path) -> None:
    for text in ("git:nowhere@v1", "~nobody-at-all/linux", "x" * 5000, "debian:7.3"):
        assert str(parse_source(text).beside(tmp_path)) == text
    study = study_from_tables({"source": {"use": "nowhere"}}, origin="s", name="s")
    assert study.source == str(SourceWord("folder", "nowhere"))
