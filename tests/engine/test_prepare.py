# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be built is left out before anything is built; without the rest there is no study."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernsmith.engine import Silent, prepare
from kernsmith.errors import UserError
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import default_compiler
from kernsmith.study import Design, Study
from older_sources import older_source


class Notes(Silent):
    """Keeps what the user is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str, share: float | None = None) -> None:
        self.texts.append(text)


def study(*factors: tuple[str, tuple[str, ...]], layouts: int = 2) -> Study:
    return Study(
        source="debian:7.3",
        config="micro",
        factors=factors,
        workloads=("pipe",),
        design=Design(layouts=layouts),
    )


def test_a_study_goes_on_without_what_cannot_be_built(source: Source) -> None:
    notes = Notes()
    asked = study(("march", ("default", "no-such-cpu")), ("lto", ("none", "thin")))
    prepared = prepare(asked, notes)
    assert [variant.name for variant in prepared.variants] == [
        "march=default lto=none",
        "march=default lto=thin",
    ]
    assert {each.variant.name for each in prepared.refused} == {
        "march=no-such-cpu lto=none",
        "march=no-such-cpu lto=thin",
    }
    assert {trial.variant for trial in prepared.trials} == set(prepared.variants)
    assert len([text for text in notes.texts if text.startswith("refused: march=no-such-")]) == 2


def test_a_source_that_is_not_there_is_told_before_another_one_is_fetched(tmp_path: Path) -> None:
    class Stages(Silent):
        def stage(self, title: str) -> None:
            raise AssertionError(title)

    with pytest.raises(UserError, match="elsewhere' does not exist"):
        prepare(study(("source", ("debian:7.3", str(tmp_path / "elsewhere")))), Stages())


def test_the_study_says_which_compiler_was_the_default(source: Source) -> None:
    prepared = prepare(study(("label", ("a", "b"))), Silent())
    assert prepared.study.compiler == default_compiler()
    assert {variant.compiler for variant in prepared.variants} == {default_compiler()}


def test_a_baseline_that_cannot_be_built_is_an_error(source: Source) -> None:
    with pytest.raises(UserError, match=r"the baseline 'march=no-such-cpu' cannot be built: .*"):
        prepare(study(("march", ("no-such-cpu", "default"))), Silent())


@pytest.mark.skipif(not shutil.which("ld.bfd"), reason="GNU ld is not installed")
def test_when_nothing_remains_to_be_compared_all_reasons_are_told(source: Source) -> None:
    asked = study(("linker", ("default", "bfd")))
    with pytest.raises(UserError, match=r"nothing remains .*\n    refused: linker=bfd: ") as caught:
        prepare(asked, Silent())
    assert "layouts = 0" in str(caught.value)
    without = prepare(study(("linker", ("default", "bfd")), layouts=0), Silent())
    assert len(without.variants) == 2


def test_an_order_file_that_is_not_there_is_told_before_anything_is_built(source: Source) -> None:
    asked = study(("layout", ("random", "order:nowhere.order+random")))
    with pytest.raises(UserError, match=r"layout=order:.*: cannot read the order file nowhere"):
        prepare(asked, Silent())


def test_one_layout_needs_a_linker_that_orders_only_when_functions_are_named(
    source: Source, tmp_path: Path
) -> None:
    (tmp_path / "an.order").write_text("vfs_read\n")
    ordered = f"order:{tmp_path / 'an.order'}"
    asked = study(("linker", ("default", "bfd")), ("layout", ("default", ordered)))
    prepared = prepare(asked, Silent())
    assert [each.variant.name for each in prepared.refused] == ["linker=bfd layout=order:an.order"]


def older_study(*stacks: str) -> Study:
    return replace(study(("profile", stacks)), source="debian:6.12")


def test_a_step_that_the_source_is_too_old_for_is_left_out_and_the_rest_goes_on() -> None:
    name = older_source("debian:6.12").name
    notes = Notes()
    stacks = ("none", "autofdo", "autofdo+thinlto-dist", "autofdo+thinlto-dist+layout")
    prepared = prepare(older_study(*stacks), notes)
    assert [variant.name for variant in prepared.variants] == [
        "profile=none", "profile=autofdo", "profile=autofdo+layout",
    ]  # fmt: skip
    assert not prepared.refused
    left_out, flags, patch = prepared.remarks
    assert left_out == (
        "the step thinlto-dist needs CONFIG_LTO_CLANG_THIN_DIST, which "
        f"{name} does not have: it is left out"
    )
    assert flags.startswith(f"{name} has no CONFIG_AUTOFDO_CLANG: kernsmith gives its flags")
    diff = Path(patch.rpartition(": ")[2]).read_text()
    assert diff.startswith("--- a/include/asm-generic/vmlinux.lds.h\n")
    assert set(prepared.remarks) <= set(notes.texts)
    again = prepare(older_study("none", "autofdo", "autofdo+layout"), Silent())
    assert again.digest == prepared.digest


def test_without_any_step_that_the_source_can_have_there_is_no_study() -> None:
    older_source("debian:6.12")
    with pytest.raises(UserError, match=r"nothing remains to be compared: the step thinlto-dist"):
        prepare(older_study("none", "thinlto-dist"), Silent())
    with pytest.raises(UserError, match=r"the baseline 'profile=thinlto-dist' cannot be built"):
        prepare(older_study("thinlto-dist", "none"), Silent())


NOWHERE = "git:/nowhere@v7.3"
"""A source that cannot be had: what is said of anything else is said before it is fetched."""


@pytest.mark.parametrize("stack", ["autofdo", "propeller", "layout", "best"])
def test_a_profile_that_is_not_there_is_told_before_the_source_is_fetched(stack: str) -> None:
    asked = replace(study(("profile", ("none", stack))), source=NOWHERE, profile="/none.afdo")
    with pytest.raises(UserError, match=r"^cannot read the profile /none\.afdo: No such file"):
        prepare(asked, Silent())


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ("autofdo", r"a\.profile is not a usable AutoFDO profile: "),
        ("instrumented", r"a\.profile is not a usable profile of llvm-profdata: "),
        ("propeller", r"a\.profile is not a profile of kernsmith: "),
        ("layout", r"profile=layout: cannot read the order file .*a\.profile: it is no text"),
    ],
)
def test_a_file_that_is_no_profile_is_told_before_the_source_is_fetched(
    stack: str, said: str, tmp_path: Path
) -> None:
    given = tmp_path / "a.profile"
    given.write_bytes(b"\x7fELF\xff\xfe\0")
    asked = replace(study(("profile", ("none", stack))), source=NOWHERE, profile=str(given))
    with pytest.raises(UserError, match=said):
        prepare(asked, Silent())


def test_a_corrupt_counts_file_is_told_before_the_source_is_fetched(tmp_path: Path) -> None:
    given = tmp_path / "a.counts"
    given.write_text("kernsmith-counts 1\nbuild-id ab\nworkloads pipe\n2\n1-2:3\n")
    asked = replace(study(("profile", ("none", "autofdo"))), source=NOWHERE, profile=str(given))
    with pytest.raises(UserError, match=r"a\.counts, line 6: the profile is cut off or corrupt"):
        prepare(asked, Silent())


def test_a_root_that_is_not_there_or_that_nothing_runs_in_is_told(tmp_path: Path) -> None:
    asked = replace(study(("label", ("a", "b"))), source=NOWHERE, root="/no/root")
    with pytest.raises(UserError, match=r"^workloads\.root: there is no /no/root$"):
        prepare(asked, Silent())
    with pytest.raises(UserError, match=r"no workload of the study runs in a root file system"):
        prepare(replace(asked, root=str(tmp_path)), Silent())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workloads": ("nothing",)}, "there is no workload 'nothing'"),
        ({"config": "/no/such.config"}, r"/no/such\.config"),
        ({"compiler": "clang-3"}, "clang-3 is not installed here"),
    ],
)
@pytest.mark.parametrize("stack", ["autofdo", "best"])
def test_words_are_checked_before_the_source_is_fetched(
    stack: str, changes: dict[str, Any], said: str
) -> None:
    asked = replace(study(("profile", ("none", stack))), **{"source": NOWHERE} | changes)
    with pytest.raises(UserError, match=said):
        prepare(asked, Silent())
