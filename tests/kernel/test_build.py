# SPDX-License-Identifier: GPL-2.0-or-later
"""Building real kernels: reproducible, cached, resumable; mistakes are told before compiling."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.errors import ProgramMissing, UserError
from kernsmith.kernel import build as build_module
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.build import BuildFailed, build_kernel
from kernsmith.kernel.config import parse_config, read_fragment
from kernsmith.kernel.recipe import StepProfile, make_recipe
from kernsmith.kernel.source import Source
from kernsmith.study import Step, Variant
from kernsmith.study.steps import step_kinds

pytestmark = pytest.mark.kernel

# As ccache, but objects with names of certain lengths are compiled anew, one in 32 of all.
_SOME_ANEW = """#!/bin/sh
for word; do case $word in *.o) object=$word;; esac; done
if [ $(( ${{#object}} % 32 )) = 21 ]; then
    echo "$object" >> {log}
    exec "$@"
fi
exec {ccache} "$@"
"""


@pytest.fixture(scope="module")
def tiny() -> Variant:
    """Of what is refused before anything is compiled."""
    return Variant(source="debian:7.3", config=str(Path(__file__).with_name("tiny.config")))


def test_two_builds_in_two_folders_give_one_vmlinux(
    micro_kernel: Kernel,
    micro_variant: Variant,
    source: Source,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The second takes most objects from ccache and compiles the others; it is kept, too."""
    ccache = shutil.which("ccache")
    assert ccache is not None
    log = tmp_path / "compiled"
    shim = tmp_path / "bin" / "ccache"
    shim.parent.mkdir()
    shim.write_text(_SOME_ANEW.format(log=log, ccache=ccache))
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    elsewhere = paths.cache_root() / "another" / "folder" / "of-kernels"
    recipe = make_recipe(micro_variant, source)
    seen: list[tuple[int, int]] = []
    again = build_kernel(recipe, store=elsewhere, on_progress=lambda a, b: seen.append((a, b)))
    assert again.folder != micro_kernel.folder
    assert again.key == micro_kernel.key
    assert file_digest(again.vmlinux) == micro_kernel.provenance["vmlinux_sha256"]
    assert file_digest(again.bzimage) == file_digest(micro_kernel.bzimage)
    if seen:
        assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
        assert again.provenance["objects"] == len(seen)
        assert len(log.read_text().splitlines()) > 30


def test_asking_again_starts_no_program(
    micro_kernel: Kernel,
    micro_variant: Variant,
    source: Source,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = make_recipe(micro_variant, source)
    monkeypatch.setattr(build_module, "process", None)
    assert build_kernel(recipe).folder == micro_kernel.folder


def test_provenance_says_how_to_make_it_again(micro_kernel: Kernel, source: Source) -> None:
    made = micro_kernel.provenance
    assert made["source"]["digest"] == source.digest
    assert made["source"]["version"].startswith("7.3")
    assert made["compiler"].startswith(("Debian clang", "clang", "Ubuntu clang"))
    assert "LLD" in made["linker"]
    assert made["command"][0] == "make"
    assert len(made["build_id"]) == 40
    assert file_digest(micro_kernel.vmlinux) == made["vmlinux_sha256"]
    config = parse_config((micro_kernel.folder / "config").read_text())
    assert all(config.get(k, "n") == v for k, v in read_fragment("micro").symbols.items())


def test_config_symbols_that_do_not_survive_are_all_named(
    tiny: Variant, source: Source, tmp_path: Path
) -> None:
    asked = tiny.with_option("CRYPTO_PCRIPT", "y").with_option("EXT4_FS", "y")
    with pytest.raises(UserError) as caught:
        build_kernel(make_recipe(asked, source), store=tmp_path)
    assert "this source has no config symbol CONFIG_CRYPTO_PCRIPT;" in str(caught.value)
    assert "Kconfig did not take CONFIG_EXT4_FS=y" in str(caught.value)


def test_a_kernel_that_does_not_build_shows_command_last_lines_and_log(
    tiny: Variant, source: Source, tmp_path: Path
) -> None:
    recipe = make_recipe(tiny.with_flags("-march=no-such-cpu"), source)
    with pytest.raises(BuildFailed) as caught:
        build_kernel(recipe, store=tmp_path)
    message = str(caught.value)
    assert "make -C" in message
    assert "error: unknown target CPU 'no-such-cpu'" in message
    assert "Error 2" in message
    log = tmp_path / recipe.key[:20] / "build.log"
    assert str(log) in message
    assert log.exists()


def test_unknown_words_are_told(source: Source) -> None:
    with pytest.raises(UserError, match=r"allowed are .*lab, .*micro"):
        make_recipe(Variant(source="x", config="labb"), source)
    with pytest.raises(ProgramMissing, match="clang-99"):
        make_recipe(Variant(source="x", config="micro", compiler="clang-99"), source)
    with pytest.raises(UserError, match="neither clang nor gcc"):
        make_recipe(Variant(source="x", config="micro", compiler="/bin/true"), source)


def test_the_key_changes_with_every_input(tiny: Variant, source: Source, tmp_path: Path) -> None:
    profile = tmp_path / "p"
    profile.write_text("1")
    autofdo = StepProfile(step_kinds()["autofdo"], (profile,))
    recipe = make_recipe(tiny, source)
    others = [
        make_recipe(tiny.with_option("HZ", "100"), source),
        make_recipe(tiny.with_flags("-O3"), source),
        make_recipe(tiny, replace(source, digest="other")),
        make_recipe(replace(tiny, steps=(Step("autofdo"),)), source, (autofdo,)),
    ]
    assert len({recipe.key, *(other.key for other in others)}) == 5
    assert make_recipe(replace(tiny, label="a", levels=(("x", "y"),)), source).key == recipe.key


def test_objects_of_a_build_that_was_killed_are_counted_once(tmp_path: Path) -> None:
    before = "  CC      kernel/a.o\n  CC [M]  fs/b.o\n  AS      lib/c.o\n  LD      fs/built-in.a\n"
    (tmp_path / "build.log").write_text(before)
    assert build_module._keep_log(tmp_path) == {"kernel/a.o", "fs/b.o", "lib/c.o"}
    (tmp_path / "build.log").write_text("  CC      fs/b.o\n  CC      fs/d.o\n")
    assert len(build_module._keep_log(tmp_path)) == 4
    assert sorted(each.name for each in tmp_path.iterdir()) == ["build.1.log", "build.2.log"]
