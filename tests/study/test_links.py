# SPDX-License-Identifier: GPL-2.0-or-later
"""[[links]] and [delegate] of a study: what they may say, and how they come into variants."""

from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.study import plan_variants
from kernsmith.study.file import read_study
from kernsmith.study.links import LinkRule
from kernsmith.study.writing import write_study

TEXT = """\
[source]
use = "debian:7.3"
[delegate]
linker = "bfd"
[[links]]
name = "aligned"
match = ["vmlinux"]
steps = ["first=fs/*.o", "align=.text.hot:2097152"]
[[links]]
name = "boot"
match = ["others"]
linker = "lld-22"
[factors]
links = ["none", "aligned", "aligned+boot"]
"""
OTHERS = LinkRule(("modules", "relocatable"), "bfd")
ALIGNED = LinkRule(("vmlinux",), "", ("first=fs/*.o", "align=.text.hot:2097152"), "aligned")
BOOT = LinkRule(("others",), "lld-22", name="boot")


def study_of(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text)
    return path


def test_levels_choose_rules_by_their_names(tmp_path: Path) -> None:
    study = read_study(study_of(tmp_path, TEXT))
    variants = plan_variants(study, ["pipe"])
    assert [variant.links for variant in variants] == [
        (OTHERS,), (OTHERS, ALIGNED), (OTHERS, ALIGNED, BOOT)
    ]  # fmt: skip
    assert len({str(variant.identity()) for variant in variants}) == 3
    assert read_study(study_of(tmp_path, write_study(study))).links == study.links


def test_studies_and_variants_without_rules_are_called_what_they_were(tmp_path: Path) -> None:
    plain = read_study(study_of(tmp_path, '[source]\nuse = "debian:7.3"\n'))
    (variant,) = plan_variants(plain, ["pipe"])
    assert "links" not in variant.identity()
    assert "links" not in write_study(plain)


@pytest.mark.parametrize(
    ("match", "line", "told"),
    [
        ("vmlinux", "steps = ['./filter.py']", "no shipped step on links, and a study names no"),
        ("vmlinux", "steps = ['order:/bin/sh']", "no shipped step on links"),
        ("vmlinux", "steps = ['first=../x.o /etc']", "no shipped step on links"),
        ("vmlinux", "steps = ['align=.text:x']", "no shipped step on links"),
        ("vmlinux", "linker = 'bfd'", "what links vmlinux is said by source.linker"),
        ("modules", "linker = '/tmp/ld'", "links.0.linker: '/tmp/ld' is no linker"),
        ("modules", "steps = ['first=a.o']", "steps are for links of vmlinux only"),
        ("programs", "linker = 'bfd'", "no links 'programs': allowed are vmlinux (the kernel)"),
        ("modules", "", "a rule needs a linker or steps"),
        ("modules", "linker = 'bfd'\nname = 'none'", "'none' is no name"),
    ],
)
def test_rules_that_a_study_may_not_have(match: str, line: str, told: str, tmp_path: Path) -> None:
    text = f'[source]\nuse = "debian:7.3"\n[[links]]\nmatch = ["{match}"]\n{line}\n'
    with pytest.raises(UserError) as caught:
        read_study(study_of(tmp_path, text))
    assert told in str(caught.value)


def test_a_level_that_is_no_rule_is_told_with_those_that_are(tmp_path: Path) -> None:
    text = TEXT.replace('"aligned+boot"', '"aligned+boots"')
    with pytest.raises(UserError, match="no level 'boots': allowed are none, aligned, boot"):
        read_study(study_of(tmp_path, text))
