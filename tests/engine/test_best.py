# SPDX-License-Identifier: GPL-2.0-or-later
"""The best stack that a toolchain and a source can carry."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kernsmith.engine import Silent
from kernsmith.engine.best import asks_for_best, with_best_stack
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import default_compiler
from kernsmith.study import Design, Study

pytestmark = pytest.mark.kernel
FULL = "autofdo+thinlto+propeller+layout"


@dataclass
class Notes(Silent):
    told: list[str] = field(default_factory=list)

    def note(self, text: str, share: float | None = None) -> None:
        self.told.append(text)


def asked(**changes: object) -> Study:
    study = Study(
        source="debian:7.3", config="micro", compiler=default_compiler(),
        factors=(("profile", ("none", "best")),), workloads=("pipe",), design=Design(layouts=2),
    )  # fmt: skip
    return replace(study, **changes)  # type: ignore[arg-type]


def chosen(study: Study, source: Source) -> tuple[str, list[str]]:
    notes = Notes()
    found = with_best_stack(study, source, notes)
    assert asks_for_best(study)
    assert not asks_for_best(found)
    return dict(found.factors)["profile"][1], notes.told


def test_all_steps_by_a_new_clang_on_a_new_tree(source: Source) -> None:
    stack, told = chosen(asked(), source)
    assert stack == FULL
    assert told == [f"the best stack here is {FULL}"]


def test_gcc_has_counters(source: Source) -> None:
    stack, told = chosen(asked(compiler="gcc-12", design=Design(layouts=0)), source)
    assert stack == "instrumented+layout"
    assert told[0].startswith(f"no {FULL}: ")
    assert told[-1] == "the best stack here is instrumented+layout"


def test_a_config_with_lto_has_all_but_that(source: Source, tmp_path: Path) -> None:
    config = tmp_path / "lto.config"
    config.write_text("CONFIG_LTO_CLANG_THIN=y\n", encoding="ascii")
    stack, told = chosen(asked(config=str(config)), source)
    assert stack == "autofdo+propeller+layout"
    assert "for configs without LTO" in told[0]


def test_what_the_study_itself_rules_out_is_a_reason(source: Source) -> None:
    stack, told = chosen(asked(options=(("LTO_CLANG_THIN", "y"),)), source)
    assert stack == "autofdo+propeller+layout"
    assert "sets CONFIG_LTO_CLANG_THIN by its step thinlto" in told[0]
    stack, told = chosen(
        asked(design=Design(layouts=2, layouts_by="boot", pairing="place")), source
    )
    assert stack == "autofdo"
    assert "design.pairing" in told[0]


def test_named_variants_have_it_too(source: Source) -> None:
    variants = (("old", (("profile", "none"),)), ("new", (("profile", "best"),)))
    found = with_best_stack(asked(factors=(), variants=variants), source, Notes())
    assert found.variants[1] == ("new", (("profile", FULL),))


def test_a_named_variant_has_that_of_its_own_compiler(source: Source) -> None:
    best = ("profile", "best")
    variants = (
        ("plain", (("profile", "none"),)),
        ("clang", (best,)),
        ("gcc", (("compiler", "gcc-12"), ("linker", "lld"), best)),
        ("gcc again", (best, ("compiler", "gcc-12"), ("linker", "lld"))),
    )
    notes = Notes()
    found = with_best_stack(asked(factors=(), variants=variants), source, notes)
    stacks = [dict(settings)["profile"] for _, settings in found.variants]
    assert stacks == ["none", FULL, "instrumented+layout", "instrumented+layout"]
    assert notes.told[0] == f"the best stack here is {FULL}"
    assert notes.told[-1] == "the best stack of gcc-12 here is instrumented+layout"
    assert len(notes.told) == len(set(notes.told))


def test_other_studies_do_not_ask() -> None:
    assert not asks_for_best(asked(factors=(("profile", ("none", "autofdo")),)))
