# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels of a study may have objects in common, and what is said of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_verdicts import OPTIMIZE, judged

from kernsmith import paths
from kernsmith.engine import Silent
from kernsmith.engine.build_plan import identity, plan_kernels
from kernsmith.engine.forge import Forge
from kernsmith.kernel.artifact import FOLDER_LETTERS
from kernsmith.kernel.make import make_command
from kernsmith.kernel.recipe import make_recipe
from whole_provenance import put_kernel

Factors = tuple[tuple[str, tuple[str, ...]], ...]


@pytest.mark.parametrize(
    ("factors", "alone"),
    [
        ((("profile", ("none", "autofdo")),), 2),
        ((("profile", ("autofdo",)),), 1),
        # What is trained for Propeller has a config symbol more, and of most objects the same code.
        ((("profile", ("none", "autofdo", "autofdo+propeller")),), 0),
        ((("profile", ("none", "autofdo", "autofdo+thinlto+propeller")),), 3),
        ((("march", ("default", "x86-64-v3")), ("optimisation", ("O2", "Os"))), 4),
        ((("lto", ("none", "thin", "full")),), 3),
        ((("profile", ("none", "autofdo+thinlto")),), 2),
        ((("CONFIG_CRYPTO_PCRYPT", ("n", "y")), ("alignment", ("none", "64"))), 0),
        ((("label", ("a", "b")),), 1),
        ((("linker", ("default", "bfd")),), 0),
    ],
)
def test_kernels_that_are_compiled_alike_share_objects(factors: Factors, alone: int) -> None:
    prepared = judged(replace(OPTIMIZE, factors=factors), lambda t: 1e6).prepared
    planned = plan_kernels(prepared.variants)
    own = {identity(variant) for variant in prepared.variants}
    assert [each.alone for each in planned if each.key in own].count(True) == alone


def test_kernels_are_planned_by_the_depth_of_their_profiles() -> None:
    stacks = ("autofdo+autofdo", "none")
    study = replace(OPTIMIZE, factors=(("profile", stacks), ("march", ("default", "x86-64-v3"))))
    planned = plan_kernels(judged(study, lambda t: 1e6).prepared.variants)
    assert [len(each.variant.steps) for each in planned] == [0, 0, 1, 1, 2, 2]
    place = {each.key: at for at, each in enumerate(planned)}
    assert len(place) == 6
    for each in planned:
        trainer = each.variant.trainer
        assert trainer is None or place[identity(trainer)] < place[each.key]


class Notes(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str, share: float | None = None) -> None:
        self.texts.append(text)


@pytest.mark.parametrize("beyond", [[], ["copy_wide"]])
def test_functions_that_use_registers_of_user_space_are_told(
    beyond: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    study = replace(OPTIMIZE, factors=(("profile", ("none",)),))
    prepared = judged(study, lambda t: 1e6).prepared
    (variant,) = prepared.variants
    recipe = make_recipe(variant, prepared.source_of(variant))
    key = recipe.key
    folder = paths.kernels() / key[:FOLDER_LETTERS]
    put_kernel(
        folder,
        key,
        command=make_command(recipe, folder / "out"),
        variant={"compiler": recipe.toolchain.compiler.name, "linker": "ld.lld"},
        simd={"beyond": beyond},
    )
    (folder / "config").touch()
    notes = Notes()
    Forge(prepared, notes).build()
    assert len(notes.texts) == len(beyond)
    assert all("has no assembly, and no flag is the reason: copy_wide;" in t for t in notes.texts)
