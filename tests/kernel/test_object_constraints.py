# SPDX-License-Identifier: GPL-2.0-or-later
"""Other ways of compiling some objects, and of linking: what is refused before anything is built,
and patterns that no object of a build fits."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.errors import ProgramMissing
from kernsmith.kernel.build import BuildFailed, _check_rules
from kernsmith.kernel.compile_cache import through_cache, write_compiler
from kernsmith.kernel.constraints import refusal
from kernsmith.kernel.object_rules import write_rules
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.study import Study, Variant, plan_variants
from kernsmith.study.links import LinkRule
from kernsmith.study.objects import ObjectRule

FS = ("fs/*.o",)


def variant(*rules: ObjectRule | LinkRule, **levels: str) -> Variant:
    factors = tuple((name, (level,)) for name, level in levels.items())
    study = Study(source="debian:7.3", config="micro", factors=factors)
    (plain,) = plan_variants(study, ("pipe",))
    return replace(
        plain,
        objects=tuple(rule for rule in rules if isinstance(rule, ObjectRule)),
        links=tuple(rule for rule in rules if isinstance(rule, LinkRule)),
    )


def test_ways_that_fit_each_other_are_allowed(source: Source) -> None:
    rules = (
        ObjectRule(FS, flags=("-O3",)),
        ObjectRule(FS, compiler="gcc", steps=("prefetch=256",), assembler="clang"),
        LinkRule(("modules",), "bfd"),
    )
    assert refusal(variant(*rules), source, layouts=False) is None


@pytest.mark.parametrize(
    ("rule", "levels", "told"),
    [
        (ObjectRule(FS, steps=("pad=1",)), {"lto": "thin"}, "are bitcode, and have no assembly"),
        (ObjectRule(FS, compiler="gcc"), {"lto": "thin"}, "one compiler must write all bitcode"),
        (
            LinkRule(("vmlinux",), steps=("first=fs/*.o",)),
            {"lto": "full"},
            "from one object of all",
        ),
        (ObjectRule(FS, flags=("-fshort-enums",)), {}, "types would differ in size or sign"),
        (ObjectRule(FS, flags=("-mregparm=1",)), {}, "functions would be called in two ways"),
        (ObjectRule(FS, flags=("-DX=1",)), {}, "a macro may change structures"),
        (ObjectRule(FS, flags=("-fconserve-stack",)), {}, "does not take"),
        (ObjectRule(FS, compiler="gcc", flags=("-mllvm",)), {}, "gcc does not take"),
    ],
    ids=str,
)
def test_ways_that_do_not_fit_are_refused(
    rule: ObjectRule | LinkRule, levels: dict[str, str], told: str, source: Source
) -> None:
    reason = refusal(variant(rule, **levels), source, layouts=False)
    assert reason is not None
    assert re.search(told, reason), reason
    assert reason.startswith(("objects fs/*.o: ", "links vmlinux: "))


def test_a_fallback_that_is_not_there_is_told_before_anything_is_built(
    source: Source, tmp_path: Path
) -> None:
    rule = ObjectRule(FS, compiler="gcc", fallback="gcc-1")
    with pytest.raises(ProgramMissing, match="gcc-1 is not installed here"):
        refusal(variant(rule), source, layouts=False)
    study = tmp_path / "s.toml"
    study.write_text(
        '[source]\nuse = "debian:7.3"\nconfig = "micro"\n[delegate]\nfallback = "gcc-1"\n'
        '[[objects]]\nmatch = ["fs/*.o"]\ncompiler = "gcc"\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "kernsmith", "plan", str(study)],
        env=dict(os.environ), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "gcc-1 is not installed here" in done.stderr


def test_patterns_that_no_object_of_a_build_fits_end_it(source: Source, tmp_path: Path) -> None:
    """The vDSO's objects are matched by whole names, and a folder's pattern does nothing there."""
    whole, pattern = "arch/x86/entry/vdso/vdso-image.o", "arch/x86/entry/vdso/*.o"
    rules = [ObjectRule((*FS, whole), flags=("-O1",)), ObjectRule((pattern,), flags=("-O3",))]
    recipe = make_recipe(variant(*rules), source)
    write_compiler(tmp_path, source.path)
    write_rules(tmp_path, recipe.variant.objects, recipe.toolchain.compiler, "x86_64")
    with pytest.raises(BuildFailed, match=re.escape(f"called fs/*.o, {whole}, {pattern}: obj")):
        _check_rules(recipe, tmp_path)
    (tmp_path / "x.c").write_text("int f(void) { return 1; }\n")
    for name in ("fs/x.o", whole):
        target = tmp_path / "out" / name
        target.parent.mkdir(parents=True)
        words = [*through_cache(tmp_path, "clang-22").split(), "-c", "-o", name, "../x.c"]
        environment = {**os.environ, "CCACHE_DISABLE": "1"}
        subprocess.run(words, cwd=tmp_path / "out", env=environment, check=True)
    with pytest.raises(BuildFailed, match=re.escape(f"compiled from C and called {pattern}: obj")):
        _check_rules(recipe, tmp_path)
    plain = make_recipe(variant(*rules[:1]), source)
    write_rules(tmp_path, plain.variant.objects, plain.toolchain.compiler, "x86_64")
    _check_rules(plain, tmp_path)
