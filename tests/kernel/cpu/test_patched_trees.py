# SPDX-License-Identifier: GPL-2.0-or-later
"""The patch on Debian's kernels: it applies, changes no default, and gives compilers its words.

Every choice is configured on every tree. Kernel objects are compiled with a few of them, others
on each tree; with KERNSMITH_EVERY_CPU=1 in the environment with all of them, which takes
half an hour.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from taken import taken_by
from trees import linked_tree, patched_tree

from kernsmith import paths
from kernsmith.kernel.compile_cache import cache_environment, through_cache, write_compiler
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.cpu.catalogue import FAMILIES, Release, read_catalogue
from kernsmith.kernel.cpu.kconfig import Option
from kernsmith.kernel.cpu.patch import make_patch
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.toolchain import Compiler, installed_compilers
from older_sources import older_source

# One worker copies each tree once.
pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("trees")]

VERSIONS = ("6.1", "6.12", "7.3")
# Of PATH: a gcc of a private root may be newer than what the oldest tree compiles with.
ON_PATH = [compiler for compiler in installed_compilers() if shutil.which(compiler.name)]
NEWEST = tuple(
    max((c for c in ON_PATH if c.family == family), key=lambda c: c.release) for family in FAMILIES
)
EVERY = 1 if os.environ.get("KERNSMITH_EVERY_CPU") else 26
GUARD = {"-mno-sse", "-mno-mmx", "-mno-sse2", "-mno-avx", "-mno-80387"}

# What Kconfig.cpu needs of the rest of the kernel, with compilers of any release.
SMALL_KCONFIG = """\
mainmenu "processors"
cc-option = y
config X86_64
	def_bool y
config CC_IS_GCC
	def_bool $(IS_GCC)
config CC_IS_CLANG
	def_bool $(IS_CLANG)
config GCC_VERSION
	int
	default $(GCC_NUMBER)
config CLANG_VERSION
	int
	default $(CLANG_NUMBER)
source "arch/x86/Kconfig.cpu"
"""


@dataclass(frozen=True)
class Tree:
    """A kernel with the patch. index: its place in VERSIONS."""

    index: int
    original: Path
    path: Path
    options: tuple[Option, ...]

    def make(self, folder: Path, compiler: Compiler, *words: str, path: Path | None = None) -> str:
        """Into `folder / "out"`, as kernels are built; returns what make says."""
        (folder / "out").mkdir(parents=True, exist_ok=True)
        write_compiler(folder, path or self.path)
        asked = through_cache(folder, compiler.name)
        tools = [f"CC={asked}", f"HOSTCC={asked}"]
        if compiler.family == "clang":
            tools.append(f"LLVM={compiler.name.removeprefix('clang') or '1'}")
        command = ["make", "-C", str(path or self.path), f"O={folder / 'out'}", *tools, *words]
        clean = {name: value for name, value in os.environ.items() if "MAKE" not in name}
        settings = cache_environment(compiler.content)
        clean |= {name: value for name, value in settings.items() if value}
        done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout


@pytest.fixture(scope="module", params=VERSIONS)
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The oldest tree and the newest; the one between them where it is unpacked anyway."""
    word = f"debian:{request.param}"
    between = request.param not in (VERSIONS[0], VERSIONS[-1])
    original = (older_source(word) if between else resolve_source(word, paths.sources())).path
    path = patched_tree(original, tmp_path_factory.mktemp("tree") / "linux")
    index = VERSIONS.index(request.param)
    return Tree(index, original, path, make_patch(original).options)


def test_patch_and_git_take_it(tree: Tree, tmp_path: Path) -> None:
    file = tmp_path / "cpu.patch"
    file.write_text(make_patch(tree.original).text)
    dry = ["patch", "-p1", "--dry-run", "--fuzz=0", "--batch", f"--input={file}"]
    subprocess.run(dry, cwd=tree.original, check=True)
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.original.parent)}
    check = ["git", "apply", "--check", "--verbose", str(file)]
    told = subprocess.run(
        check, cwd=tree.original, env=alone, check=True, capture_output=True, text=True
    )
    assert told.stderr.count("Checking patch") == 2
    assert make_patch(tree.path).text == "", "the patched tree is told so"


def test_defaults_stay_and_choices_are_those_of_the_compiler(tree: Tree, tmp_path: Path) -> None:
    """`defconfig` with and without the patch; the choices it shows are what the compiler takes."""
    gcc, clang = NEWEST
    plain = linked_tree(tree.original, tmp_path / "plain")
    tree.make(tmp_path / "before", gcc, "x86_64_defconfig", path=plain)
    tree.make(tmp_path / "after", gcc, "x86_64_defconfig")
    before, after = ((tmp_path / name / "out/.config").read_text() for name in ("before", "after"))
    added = [line for line in after.splitlines() if "X86_MARCH" in line]
    assert [line for line in after.splitlines() if line not in added] == before.splitlines()
    assert [line for line in added if "=" in line] == ["CONFIG_X86_MARCH_DEFAULT=y"]
    (tmp_path / "clang/out").mkdir(parents=True)
    (tmp_path / "clang/out/.config").write_text(before)
    tree.make(tmp_path / "clang", clang, "olddefconfig")
    for compiler, text in ((gcc, after), (clang, (tmp_path / "clang/out/.config").read_text())):
        shown = parse_config(text).keys()
        expected = {"X86_MARCH_DEFAULT", *_taken(tree, compiler)}
        assert {name for name in shown if name.startswith("X86_MARCH_")} == expected


def test_every_choice_can_be_configured(tree: Tree, tmp_path: Path) -> None:
    """With the tree's own Kconfig, for each installed compiler and for releases to come."""
    tree.make(tmp_path, NEWEST[0], "allnoconfig")
    (tmp_path / "Kconfig").write_text(SMALL_KCONFIG)
    compilers = [(c.family, c.release, _taken(tree, c)) for c in NEWEST]
    for family in FAMILIES:
        known = {t.march for t in read_catalogue().targets() if taken_by(t, family, (99, 0))}
        compilers.append((family, (99, 0), {o.symbol for o in tree.options if o.march in known}))
    for family, release, taken in compilers:
        for option in tree.options:
            got = _configure_small(tree, tmp_path, family, release, option)
            if option.symbol in taken:
                assert got["X86_MARCH"] == f'"{option.march}"'
            elif option.march != "native":
                assert got["X86_MARCH_DEFAULT"] == "y"
                assert "X86_MARCH" not in got


def _taken(tree: Tree, compiler: Compiler) -> set[str]:
    """The choices whose words a compiler takes."""
    return {o.symbol for o in tree.options if not compiler.refuses((f"-march={o.march}",))}


def _configure_small(
    tree: Tree, folder: Path, family: str, release: Release, option: Option
) -> dict[str, str]:
    config = folder / ".config"
    config.write_text(f"CONFIG_{option.symbol}=y\n")
    values = {"srctree": str(tree.path), "SRCARCH": "x86", "KCONFIG_CONFIG": str(config)}
    for name in FAMILIES:
        number = release[0] * 10000 + release[1] * 100 if name == family else 0
        values |= {
            f"IS_{name.upper()}": "ny"[name == family],
            f"{name.upper()}_NUMBER": str(number),
        }
    conf = [folder / "out/scripts/kconfig/conf", "--olddefconfig", folder / "Kconfig"]
    subprocess.run(conf, env=os.environ | values, cwd=folder, check=True, capture_output=True)
    return parse_config(config.read_text())


def test_kernel_objects_are_compiled_with_the_choice(tree: Tree, tmp_path: Path) -> None:
    with ThreadPoolExecutor(len(NEWEST)) as pool:
        done = pool.map(lambda compiler: _compile_choices(tree, compiler, tmp_path), NEWEST)
        counts = list(done)
    print(f"{tree.path}: compiled with {counts[0]} choices by gcc and {counts[1]} by clang")
    assert all(count >= 2 for count in counts)


def _compile_choices(tree: Tree, compiler: Compiler, folder: Path) -> int:
    own = folder / compiler.name
    config = own / "out/.config"
    least = folder / "least.config"
    least.write_text("CONFIG_64BIT=y\n")
    tree.make(own, compiler, f"KCONFIG_ALLCONFIG={least}", "allnoconfig")
    base = config.read_text().replace("X86_MARCH_DEFAULT=y", "X86_MARCH_DEFAULT=n")
    taken = _taken(tree, compiler)
    chosen = [option for option in tree.options if option.symbol in taken][tree.index :: EVERY]
    for option in chosen:
        config.write_text(base.replace(f"# CONFIG_{option.symbol} is not set", ""))
        with config.open("a") as file:
            file.write(f"CONFIG_{option.symbol}=y\n")
        _check_flags(tree.make(own, compiler, "V=1", "prepare0"), option)
        got = parse_config(config.read_text())
        assert got["X86_MARCH"] == f'"{option.march}"'
        assert got.get("X86_MARCH_RUST", '""').strip('"') in ("", option.march)
    return len(chosen)


def _check_flags(log: str, option: Option) -> None:
    lines = [line for line in log.splitlines() if "-D__KERNEL__" in line and "-mcmodel=" in line]
    assert len(lines) >= 2, f"no objects of the kernel were compiled with {option.symbol}: {log}"
    tune = "generic" if option.march.startswith("x86-64") else option.march
    for line in lines:
        words = line.split()
        marches = [word for word in words if word.startswith("-march=")]
        tunes = [word for word in words if word.startswith("-mtune=")]
        assert marches[-1] == f"-march={option.march}"
        assert tunes[-1] == f"-mtune={tune}"
        assert set(words) >= GUARD
