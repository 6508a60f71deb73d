# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of which two compilations differ: of a few lines of C, by the host's gcc."""

import subprocess
from pathlib import Path

import pytest

from kernsmith.kernel.object_code import NoObject, changed_functions, functions_of_object

CODE = """\
extern int other(const char *text);
static int counter;
int same(int a) { return other("one") + a; }
int compared(int a, int b) { return a < b ? other("two") : counter; }
int called(void) { return other("three"); }
"""


def compiled(folder: Path, text: str, *flags: str) -> Path:
    target = folder / f"{len(list(folder.iterdir()))}.o"
    command = ["gcc", "-O2", "-ffunction-sections", *flags, "-c", "-x", "c", "-", "-o", str(target)]
    subprocess.run(command, input=text, text=True, check=True)
    return target


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("a < b", "a >= b", ("compared",)),
        ('other("three")', "0", ("called",)),
        ("int called(void)", "int renamed(void)", ("called", "renamed")),
        # Another text at the same place of the same section is nobody's code.
        ('"one"', '"uno"', ()),
        ("static int counter;", "static int counter; /* */", ()),
    ],
)
def test_functions_whose_code_differs_are_named(
    before: str, after: str, changed: tuple[str, ...], tmp_path: Path
) -> None:
    one, other = compiled(tmp_path, CODE), compiled(tmp_path, CODE.replace(before, after))
    assert changed_functions(one, other) == changed


def test_a_call_of_another_function_is_another_code(tmp_path: Path) -> None:
    text = "void a(void); void b(void); void f(void) { a(); }"
    one, other = compiled(tmp_path, text), compiled(tmp_path, text.replace("a(); }", "b(); }"))
    assert changed_functions(one, other) == ("f",)


def test_without_sections_of_their_own_functions_are_told_apart_too(tmp_path: Path) -> None:
    flag = "-fno-function-sections"
    one = compiled(tmp_path, CODE, flag)
    other = compiled(tmp_path, CODE.replace("a < b", "a >= b"), flag)
    assert "compared" in changed_functions(one, other)
    assert set(functions_of_object(one)) == {"same", "compared", "called"}


@pytest.mark.parametrize("content", [b"", b"BC\xc0\xde" * 40, b"\x7fELF\x02\x01" + b"\xff" * 80])
def test_what_is_no_object_is_said_to_be_none(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.o"
    path.write_bytes(content)
    with pytest.raises(NoObject, match="is no object"):
        functions_of_object(path)
