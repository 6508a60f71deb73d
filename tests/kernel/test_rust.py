# SPDX-License-Identifier: GPL-2.0-or-later
"""Code in Rust: what it is built with is found, known by its content, and told when it is missing.

The programs are of the private root `rust`; `make test-all` makes it, an ordinary run uses it when
it is there.
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.errors import UserError
from kernsmith.kernel.config import read_fragment
from kernsmith.kernel.constraints import refusal
from kernsmith.kernel.make import make_command
from kernsmith.kernel.private_root import add_toolchain, find_private_root
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import RUST, Rust, find_rust, find_toolchain, rust, rust_flags
from kernsmith.study import Variant

CLANG = find_toolchain().compiler
VARIANT = Variant(source="debian:7.3", config="rust")


@pytest.fixture(scope="module")
def found() -> Rust:
    if find_private_root(RUST) is None:
        if ALL not in os.environ or shutil.which("mmdebstrap") is None:
            pytest.skip("there is no private root for Rust: make test-all makes it")
        add_toolchain(RUST)
    return find_rust(CLANG)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No private root, and a PATH with what is linked into it."""
    clang = Path(str(shutil.which(CLANG.program))).parent
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "dirname", "readelf", "ldd", "bash", "cat"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", f"{programs}:{clang if 'llvm' in str(clang) else programs}")
    rust._find.cache_clear()
    yield programs
    rust._find.cache_clear()


@pytest.mark.parametrize(
    ("of_c", "of_rust"),
    [
        ("-O3 -march=x86-64-v3", "-Copt-level=3 -Ctarget-cpu=x86-64-v3"),
        ("-Os -mtune=znver5", "-Copt-level=s -Ztune-cpu=znver5"),
        ("-ffunction-sections", "-Zfunction-sections=y"),
        (
            "-fprofile-sample-accurate -mllvm -enable-ext-tsp-block-placement=true",
            "-Cllvm-args=-profile-sample-accurate -Cllvm-args=-enable-ext-tsp-block-placement=true",
        ),
        ("-falign-functions=64 -fno-inline -Wno-error -g0", ""),
        ("", ""),
    ],
)
def test_flags_that_mean_something_to_rustc_are_handed_on(of_c: str, of_rust: str) -> None:
    assert rust_flags(of_c.split()) == tuple(of_rust.split())


def test_what_is_missing_is_told_with_what_gets_it(nowhere: Path, source: Source) -> None:
    with pytest.raises(UserError) as caught:
        find_rust(CLANG)
    said = str(caught.value)
    assert "here is no rustc and no bindgen (cargo install --locked bindgen-cli)" in said
    assert "kernsmith toolchain add rust (or set CONFIG_RUST=n)" in said
    assert "\n" not in said


def test_a_rustc_without_the_source_of_its_library_is_told(nowhere: Path) -> None:
    """A program that says what a rustc of rustup says."""
    script = nowhere / "rustc"
    script.write_text(
        f'#!/bin/sh\n[ $1 = --version ] && echo "rustc 1.99.1 (0a1b 2027)" || echo {nowhere}\n'
    )
    script.chmod(0o755)
    with pytest.raises(UserError, match=r"rustc 1\.99\.1 without its library's source .*rust-src"):
        find_rust(CLANG)


def test_a_config_without_rust_needs_none(nowhere: Path, source: Source) -> None:
    assert make_recipe(replace(VARIANT, config="micro"), source).rust is None


def test_a_fragment_may_lie_over_a_shipped_one(tmp_path: Path) -> None:
    over, micro = read_fragment("rust"), read_fragment("micro")
    assert dict(over.symbols) == {
        **micro.symbols,
        "RUST": "y",
        "ANDROID_BINDER_IPC_RUST": "y",
        "ANDROID_BINDER_DEVICES": '"binder"',
    }
    assert over.older == micro.older
    own = tmp_path / "own.config"
    own.write_text("# over no_such\nCONFIG_NET=n\n")
    with pytest.raises(UserError, match=r"own\.config: the comment '# over no_such' names no ship"):
        read_fragment(str(own))
    own.write_text("# over micro, without a network\nCONFIG_NET=n\n")
    with pytest.raises(UserError, match=r"'# over micro, without a network' .*allowed are disk, "):
        read_fragment(str(own))


def test_a_fragment_of_windows_says_the_same_as_any_other(tmp_path: Path) -> None:
    text = (
        "# over micro\n# loads: loop\n# objects: 12\n# without CONFIG_A: CONFIG_B=y\nCONFIG_A=y\n"
    )
    own = tmp_path / "own.config"
    own.write_bytes(text.encode())
    plain = read_fragment(str(own))
    own.write_bytes(text.replace("\n", "\r\n").encode())
    assert read_fragment(str(own)) == plain
    assert plain.symbols["NET"] == "y"
    assert (plain.modules, plain.objects, plain.older["A"]) == (("loop",), 12, ("B", "y"))


def test_the_programs_are_known_by_their_content(found: Rust, source: Source) -> None:
    assert [name for name, _ in found.contents] == ["rustc", "rust library", "bindgen"]
    assert all(digest for _, digest in found.contents)
    assert found.release >= (1, 85, 0)
    assert found.bindgen_release >= (0, 71, 1)
    assert (found.library / "core/src/lib.rs").exists()
    assert str(CLANG.version) in found.libclang.name
    recipe = make_recipe(VARIANT, source)
    assert recipe.rust == found
    assert set(found.contents) < set(recipe.contents)
    other = replace(found, contents=(("rustc", "another"), *found.contents[1:]))
    assert recipe.key != replace(recipe, rust=other).key


def test_kbuild_is_told_of_rust(found: Rust, source: Source, tmp_path: Path) -> None:
    variant = replace(VARIANT, flags=("-O3", "-march=x86-64-v3"))
    words = make_command(make_recipe(variant, source), tmp_path / "out", "vmlinux")
    told = dict(word.split("=", 1) for word in words if "=" in word)
    assert told["RUSTC"] == told["HOSTRUSTC"] == found.rustc
    assert told["BINDGEN"] == found.bindgen
    assert told["HOSTCC"] == CLANG.program
    assert told["KRUSTFLAGS"].endswith("-Copt-level=3 -Ctarget-cpu=x86-64-v3")
    for place in (str(tmp_path / "out"), f"{source.path}/", str(found.library)):
        assert f"--remap-path-prefix={place}=" in told["KRUSTFLAGS"]


def test_a_source_says_itself_which_rust_is_too_old(
    found: Rust, source: Source, tmp_path: Path
) -> None:
    script = tmp_path / "scripts/min-tool-version.sh"
    script.parent.mkdir()
    text = (source.path / "scripts/min-tool-version.sh").read_text()
    script.write_text(text.replace("echo 0.71.1", "echo 0.99.0"))
    old = replace(source, path=tmp_path, name="linux-99")
    reason = refusal(VARIANT, old, layouts=False)
    assert reason is not None
    assert re.search(
        r"linux-99 needs bindgen 0\.99\.0 or newer \(its scripts/min-tool-version\.sh says so\), "
        r"and bindgen is [\d.]+; get a newer one with: kernsmith toolchain add rust",
        reason,
    )
