# SPDX-License-Identifier: GPL-2.0-or-later
"""[[objects]] of a study: what they may say, and how they come into variants."""

from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.study import plan_variants
from kernsmith.study.file import read_study
from kernsmith.study.objects import ObjectRule, regex_of
from kernsmith.study.writing import write_study

TEXT = """\
[source]
use = "debian:7.3"
[delegate]
assembler = "gnu"
[[objects]]
match = ["mm/*.o"]
flags = ["-O3 -fno-inline"]
[[objects]]
name = "padded"
match = ["fs/*.o", "kernel/**"]
steps = ["pad=7", "no-prefetch"]
[[objects]]
name = "other"
match = ["fs/pipe.o"]
compiler = "clang-19"
assembler = "clang"
[factors]
objects = ["none", "padded", "padded+other"]
"""
EVERYWHERE = ObjectRule(("mm/*.o",), flags=("-O3", "-fno-inline"))
PADDED = ObjectRule(
    ("fs/*.o", "kernel/**"), steps=("pad=7", "no-prefetch"), assembler="gnu", name="padded"
)
OTHER = ObjectRule(("fs/pipe.o",), compiler="clang-19", assembler="clang", name="other")


def study_of(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text)
    return path


def test_levels_choose_rules_by_their_names(tmp_path: Path) -> None:
    study = read_study(study_of(tmp_path, TEXT))
    variants = plan_variants(study, ["pipe"])
    assert [variant.objects for variant in variants] == [
        (EVERYWHERE,),
        (EVERYWHERE, PADDED),
        (EVERYWHERE, PADDED, OTHER),
    ]
    assert [variant.name for variant in variants][1] == "objects=padded"
    assert len({str(variant.identity()) for variant in variants}) == 3
    assert read_study(study_of(tmp_path, write_study(study))).objects == study.objects


def test_fallbacks_are_of_rules_with_a_compiler(tmp_path: Path) -> None:
    text = TEXT.replace("[delegate]", '[delegate]\nfallback = "gcc-12"')
    study = read_study(study_of(tmp_path, text))
    assert [rule.fallback for rule in study.objects] == ["", "", "gcc-12"]
    assert read_study(study_of(tmp_path, write_study(study))).objects == study.objects
    plain = read_study(study_of(tmp_path, TEXT))
    assert plain.digest != study.digest
    assert plain.objects[2].identity() == OTHER.identity()


def test_studies_and_variants_without_rules_are_called_what_they_were(tmp_path: Path) -> None:
    plain = read_study(study_of(tmp_path, '[source]\nuse = "debian:7.3"\n'))
    (variant,) = plan_variants(plain, ["pipe"])
    assert "objects" not in variant.identity()
    assert "objects" not in write_study(plain)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("steps = ['./filter.py']", "no shipped step, and a study names no others: allowed are p"),
        ("steps = ['/bin/sh']", "no shipped step"),
        ("steps = ['pad']", "no shipped step"),
        ("steps = ['pad=1;touch x']", "no shipped step"),
        ("steps = ['swap-comparison=a b']", "no shipped step"),
        ("flags = ['-fplugin=x.so']", "objects.0.flags: the flag '-fplugin=x.so' is not allowed"),
        ("compiler = '/tmp/cc'", "objects.0.compiler: '/tmp/cc' is no compiler's name"),
        ("compiler = 'clang-19 -x'", "no compiler's name"),
        ("fallback = 'gcc-12'", "objects.0.fallback: 'gcc-12' has no compiler that it stands in"),
        ("compiler = 'tcc'\nfallback = 'tcc'", "'tcc' is the compiler itself"),
        ("compiler = 'tcc'\nflags = ['-O3']", "tcc takes no flags"),
        ("compiler = 'tcc'\nfallback = '/bin/cc'", "objects.0.fallback: '/bin/cc' is no compiler"),
        ("assembler = 'nasm'", "objects.0.assembler"),
        ("nonsense = 1", "unknown key objects.0.nonsense: allowed are match, name, compiler"),
        ("", "a rule needs a compiler, flags, steps or an assembler"),
        ("steps = ['no-prefetch']\nname = 'none'", "'none' is no name"),
    ],
)
def test_rules_that_a_study_may_not_have(line: str, told: str, tmp_path: Path) -> None:
    text = f'[source]\nuse = "debian:7.3"\n[[objects]]\nmatch = ["fs/*.o"]\n{line}\n'
    with pytest.raises(UserError) as caught:
        read_study(study_of(tmp_path, text))
    assert told in str(caught.value)


@pytest.mark.parametrize("pattern", ["", "/etc/passwd", "../x.o", "fs/$(x).o", "fs/a b.o", "a\tb"])
def test_patterns_are_names_of_objects(pattern: str, tmp_path: Path) -> None:
    rule = f"[[objects]]\nmatch = ['{pattern}']\nsteps = ['no-prefetch']\n"
    with pytest.raises(UserError, match="is no pattern of objects"):
        read_study(study_of(tmp_path, f'[source]\nuse = "debian:7.3"\n{rule}'))


def test_a_level_that_is_no_rule_is_told_with_those_that_are(tmp_path: Path) -> None:
    text = TEXT.replace('"padded+other"', '"padded+others"')
    with pytest.raises(UserError, match="no level 'others': allowed are none, other, padded"):
        read_study(study_of(tmp_path, text))


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("fs/*.o", "fs/pipe.o", "fs/proc/base.o"),
        ("fs/**.o", "fs/proc/base.o", "mm/fs.o"),
        ("**", "kernel/fork.o", ""),
        ("fs/p?pe.o", "fs/pipe.o", "fs/p/pe.o"),
    ],
)
def test_patterns_mean_what_the_compilers_delegate_takes_them_for(
    pattern: str, fits: str, fits_not: str
) -> None:
    """The same cases as in native/compiler/src/objects.rs."""
    assert regex_of(pattern).fullmatch(fits)
    assert not fits_not or not regex_of(pattern).fullmatch(fits_not)
