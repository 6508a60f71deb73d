# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that others have written: a byte order mark is none of their text, and what is wrong with
one is one sentence that names it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.foreign import read_json, read_text, read_toml

MARK = b"\xef\xbb\xbf"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.parametrize(
    ("read", "content", "value"),
    [
        (read_text, b"a\nb", "a\nb"),
        (read_toml, b"a = 1", {"a": 1}),
        (read_json, b'{"a": 1}', {"a": 1}),
    ],
)
def test_a_byte_order_mark_is_no_part_of_it_and_lines_end_in_one_way(
    file: Path, read: Callable[[Path], object], content: bytes, value: object
) -> None:
    for data in (content, MARK + content, content.replace(b"\n", b"\r\n")):
        file.write_bytes(data)
        assert read(file) == value


@pytest.mark.parametrize(
    ("read", "content", "told"),
    [
        (read_text, b"ab\xff", "it is no text in UTF-8 (its byte 3 is none)"),
        (read_text, "ä".encode("utf-16"), "it is no text in UTF-8 (its byte 1 is none)"),
        (read_toml, b"\x7fELF\x02\x80", "it is no text in UTF-8"),
        (read_toml, b"a = = 1", "is not TOML: Invalid value"),
        (read_toml, b"a = " + b"[" * 100_000, "is nested too deeply"),
        (read_toml, b"a = " + b"9" * 5000, "is not TOML: "),
        (read_json, b"{", "is not JSON: Expecting property name"),
        (read_json, b"[" * 100_000, "is nested too deeply"),
        (read_json, b'{"a":' * 100_000, "is nested too deeply"),
        (read_json, b"9" * 5000, "is not JSON: "),
    ],
    ids=range(10),
)
def test_what_is_wrong_is_one_sentence(
    file: Path, read: Callable[[Path], object], content: bytes, told: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read(file)
    sentence = str(caught.value)
    assert str(file) in sentence and told in sentence and "\n" not in sentence


def test_what_cannot_be_read(file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the rules .*file: No such file"):
        read_text(file, "the rules")
    with pytest.raises(UserError, match=r"cannot read .*: Is a directory"):
        read_json(tmp_path)
    file.write_bytes(b"# four")
    assert read_toml(file, most=6) == {}
    with pytest.raises(UserError, match="it has more than 5 bytes"):
        read_toml(file, most=5)
