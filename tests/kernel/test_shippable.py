# SPDX-License-Identifier: GPL-2.0-or-later
"""A layout is shipped as it was measured: image, BTF, debug information, Debian package."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernels import ALL, kept_kernel
from kernsmith import process
from kernsmith.engine.replay import text_of
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.link import relink
from kernsmith.kernel.note import kernel_release, read_note, uts_version
from kernsmith.kernel.package import make_packages, package_command
from kernsmith.kernel.package_kind import DEB, KINDS, PACMAN, RPM, TAR
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.reordered import reordered
from kernsmith.kernel.source import Source
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.layout import layout_name, random_order
from kernsmith.layout.traced import TracedText
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Variant

pytestmark = pytest.mark.kernel
# Their package is made once, and nothing else may be at work in the kernel's folder meanwhile.
IN_ONE_PROCESS = pytest.mark.xdist_group("packaged")

TINY_WITH_BTF = Path(__file__).with_name("btf.config")


@pytest.fixture(scope="module")
def btf_kernel(source: Source) -> Kernel:
    """The least kernel with debug information, BTF and a module."""
    return kept_kernel(make_recipe(Variant("debian:7.3", str(TINY_WITH_BTF)), source))


def an_order(kernel: Kernel) -> list[str]:
    return random_order(movable_functions(read_system_map(kernel.system_map)), "shipped")


def sections(kernel: Kernel, image: Path) -> set[str]:
    readelf = find_toolchain(kernel.provenance["variant"]["compiler"]).tool("llvm-readelf")
    shown = process.run([readelf, "--sections", "--wide", image], timeout=60).output
    return {word for line in shown.splitlines() for word in line.split() if word.startswith(".")}


def memory(image: Path, folder: Path) -> bytes:
    """What the image is in memory.

    Left out are the build id, which is also of what is stripped, and what kbuild takes out behind
    the link.
    """
    flat = folder / "memory"
    without = [f"--remove-section={name}" for name in (".notes", ".modinfo")]
    process.run(["objcopy", "--strip-all", *without, "-O", "binary", image, flat], timeout=300)
    return flat.read_bytes()


def section(image: Path, name: str, folder: Path) -> bytes:
    flat = folder / "section"
    command = ["objcopy", f"--only-section={name}", "-O", "binary", image, flat]
    process.run(command, timeout=300)
    return flat.read_bytes()


def unpacked(image: Path, source: Path, folder: Path) -> Path:
    """The ELF file inside a bzImage."""
    made = process.run(
        ["sh", "-c", f"'{source}/scripts/extract-vmlinux' '{image}' > '{folder}/elf'"], timeout=300
    )
    assert made.returncode == 0
    return folder / "elf"


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


def test_a_layout_is_shipped_as_it_was_measured(micro_kernel: Kernel, tmp_path: Path) -> None:
    order, before = an_order(micro_kernel), stamps(micro_kernel.output)
    shipped = reordered(micro_kernel, order)
    measured = relink(micro_kernel, "shipped", order)
    assert memory(shipped.vmlinux, tmp_path) == memory(measured, tmp_path)
    assert memory(shipped.vmlinux, tmp_path) != memory(micro_kernel.vmlinux, tmp_path)
    source = micro_kernel.output / "source"
    inside = unpacked(shipped.bzimage, source, tmp_path)
    assert memory(inside, tmp_path) == memory(measured, tmp_path)
    assert shipped.system_map.read_bytes() == measured.with_name("System.map").read_bytes()
    assert stamps(micro_kernel.output) == before
    assert ".debug_line" in sections(micro_kernel, shipped.vmlinux)


def test_functions_of_a_kernel_in_an_order_are_predicted_in_others(micro_kernel: Kernel) -> None:
    """Of functions that share a name, too: the linker sorts them from the order of its input."""
    shipped = reordered(micro_kernel, an_order(micro_kernel))
    order = random_order(movable_functions(read_system_map(shipped.system_map)), "other")
    image = relink(shipped, layout_name("order", order), order)
    at: dict[str, set[int]] = {}
    for symbol in read_system_map(image.with_name("System.map")):
        at.setdefault(symbol.name, set()).add(symbol.address)
    text = text_of(shipped.folder)
    starts = TracedText(text, []).lab.place(list(text.arranged(order).order), [])
    shared = Counter(name for section in text.sections for name in section.symbols)
    seen = 0
    for section, start in zip(text.sections, starts, strict=True):
        name = section.name.removeprefix(".text.")
        if section.symbols[:1] == (name,):
            assert start in at[name], section
            seen += shared[name] > 1
    assert seen > 100


@pytest.fixture(scope="module")
def packaged(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kernel, Path]:
    """A layout of the micro kernel, and its Debian package."""
    shipped = reordered(micro_kernel, an_order(micro_kernel))
    before, built = stamps(shipped.output), stamps(micro_kernel.output)
    packages = make_packages(shipped, tmp_path_factory.mktemp("packages"))
    assert (stamps(shipped.output), stamps(micro_kernel.output)) == (before, built)
    assert not list(shipped.folder.glob(".package-*"))
    (image,) = (path for path in packages if path.name.startswith("linux-image-"))
    return shipped, image


@IN_ONE_PROCESS
def test_what_is_packaged_is_what_was_measured(
    micro_kernel: Kernel, packaged: tuple[Kernel, Path], tmp_path: Path
) -> None:
    shipped, image = packaged
    process.run(["dpkg-deb", "--extract", image, tmp_path / "root"], timeout=300)
    (vmlinuz,) = (tmp_path / "root/boot").glob("vmlinuz-*")
    assert file_digest(vmlinuz) == file_digest(shipped.bzimage)
    inside = unpacked(vmlinuz, micro_kernel.output / "source", tmp_path)
    assert memory(inside, tmp_path) == memory(shipped.vmlinux, tmp_path)
    assert package_command(shipped) == f"kernsmith package {shipped.folder}"
    assert f"+kernsmith.{shipped.key[:8]}-1_" in image.name
    told = tmp_path / "root/lib/modules" / kernel_release(shipped) / "kernsmith"
    note = read_note(told / "note.json")
    assert (note.build_id, note.image_sha256) == (shipped.build_id, file_digest(vmlinuz))
    assert uts_version(shipped) == note.uname_v
    assert (told / "order").read_text().split() == shipped.order
    assert str(shipped.folder.parent) not in (told / "note.json").read_text()


def small_root(root: Path) -> Path:
    """What the scripts of a package run in: the programs that they name, all of them busybox."""
    for folder in ("bin", "boot", "tmp", "usr/sbin", "var/lib/dpkg/info", "var/lib/dpkg/updates"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    for name in ("bin/sh", "bin/cmp", "bin/cp", "bin/test", "bin/run-parts", "usr/sbin/depmod"):
        shutil.copy("/bin/busybox", root / name)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    return root


def as_root(command: Sequence[str | Path]) -> None:
    helper = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    process.run([*helper, *command], timeout=300)


def installed(package: Path, root: Path) -> Path:
    """A small root in which dpkg has installed a package, by its own scripts."""
    small_root(root)
    as_root(["dpkg", f"--root={root}", "--force-depends", "--install", package])
    return root


def by_its_manager(kind: str, package: Path, root: Path) -> list[str | Path]:
    """The command of a distribution that installs a package of this kind in a small root."""
    if kind == RPM:
        return ["rpm", f"--root={root}", "--nodeps", "--install", package]
    if kind == PACMAN:
        config, database = root / "tmp/pacman.conf", root / "var/lib/pacman"
        config.write_text("[options]\nArchitecture = auto\nLocalFileSigLevel = Optional\n")
        database.mkdir()
        where = ["--root", root, "--dbpath", database, "--cachedir", root / "tmp"]
        return ["pacman", "--config", config, *where, "--noconfirm", "--upgrade", package]
    assert kind == TAR
    return ["tar", "--extract", "--directory", root, "--file", package]


@IN_ONE_PROCESS
def test_what_is_installed_boots_and_is_what_was_measured(
    packaged: tuple[Kernel, Path], tmp_path: Path
) -> None:
    """The fast half of a proof; the whole one is in tests/proof."""
    shipped, package = packaged
    root = installed(package, tmp_path / "root")
    release = kernel_release(shipped)
    assert "install ok installed" in (root / "var/lib/dpkg/status").read_text()
    note = read_note(root / "lib/modules" / release / "kernsmith/note.json")
    shutil.copy("/bin/busybox", tmp_path / "busybox")
    words = "uname -r; uname -v; busybox sha256sum < /sys/kernel/notes"
    (tmp_path / "asks.toml").write_text(
        'name = "asks"\nprogram = "busybox"\n'
        f'arguments = ["sh", "-c", "{words.replace("uname", "busybox uname")}"]\n'
        'rounds = 1\nfiles = ["busybox"]\n[check]\noutput = "expected"\n'
    )
    notes = hashlib.sha256(section(shipped.vmlinux, ".notes", tmp_path)).hexdigest()
    (tmp_path / "expected").write_text(f"{note.release}\n{note.uname_v}\n{notes}  -\n")
    asked = Job(read_own_workload(tmp_path / "asks.toml"), tmp_path / "asks")
    vmlinuz = root / "boot" / f"vmlinuz-{release}"
    outcome = run_once(open_machine("skylake"), vmlinuz, asked)
    assert outcome.ok, outcome.reason
    other = "0" if notes[0] != "0" else "1"
    (tmp_path / "expected").write_text(f"{note.release}\n{note.uname_v}\n{other}{notes[1:]}  -\n")
    asked = Job(read_own_workload(tmp_path / "asks.toml"), tmp_path / "other")
    assert not run_once(open_machine("skylake"), vmlinuz, asked).ok


@pytest.mark.skipif(ALL not in os.environ, reason="each takes a minute: make test-all makes them")
@pytest.mark.parametrize("kind", KINDS)
def test_packages_that_are_made_twice_are_equal_and_install(
    micro_kernel: Kernel, tmp_path: Path, kind: str
) -> None:
    remarks: list[str] = []
    first, second = (
        make_packages(micro_kernel, tmp_path / name, KINDS[kind], remarks.append)
        for name in ("a", "b")
    )
    assert not remarks
    assert [path.name for path in first] == [path.name for path in second]
    assert list(map(file_digest, first)) == list(map(file_digest, second))
    (main,) = filter(KINDS[kind].is_main, first)
    if kind == DEB:
        root = installed(main, tmp_path / "root")
    else:
        root = small_root(tmp_path / "root")
        as_root(by_its_manager(kind, main, root))
    release = kernel_release(micro_kernel)
    folder = root / KINDS[kind].modules.format(release=release)
    assert read_note(folder / "kernsmith/note.json").build_id == micro_kernel.build_id
    # Where boot loaders look, which a package of Arch leaves to what is installed there.
    image = folder / "vmlinuz" if kind == PACMAN else root / "boot" / f"vmlinuz-{release}"
    assert file_digest(image) == file_digest(micro_kernel.bzimage)


def test_random_layouts_of_a_kernel_with_btf_link_and_boot(
    btf_kernel: Kernel, tmp_path: Path
) -> None:
    image = relink(btf_kernel, "with-btf", an_order(btf_kernel))
    assert ".BTF" in sections(btf_kernel, image)
    assert ".debug_info" not in sections(btf_kernel, image)
    workload = load_catalogue().select(["null-syscall"])[0]
    outcome = run_once(open_machine("skylake"), image, Job(workload, tmp_path / "boot"))
    assert outcome.ok, outcome.reason


def test_a_shipped_layout_has_btf_and_debug_information(btf_kernel: Kernel, tmp_path: Path) -> None:
    """pahole made the shipped BTF anew: it is the one that measured layouts were given."""
    order = an_order(btf_kernel)
    shipped, measured = reordered(btf_kernel, order), relink(btf_kernel, "with-btf", order)
    assert {".BTF", ".BTF_ids", ".debug_info", ".debug_line"} <= sections(
        btf_kernel, shipped.vmlinux
    )
    made_anew = section(shipped.vmlinux, ".BTF", tmp_path)
    assert made_anew == section(btf_kernel.vmlinux, ".BTF", tmp_path)
    assert len(made_anew) > 100_000
    assert memory(shipped.vmlinux, tmp_path) == memory(measured, tmp_path)


def test_modules_of_a_package_are_made_for_its_kernel(btf_kernel: Kernel, tmp_path: Path) -> None:
    packages = make_packages(btf_kernel, tmp_path / "packages")
    image = next(p for p in packages if p.name.startswith("linux-image-") and "-dbg_" not in p.name)
    process.run(["dpkg-deb", "--extract", image, tmp_path / "root"], timeout=300)
    (vmlinuz,) = (tmp_path / "root/boot").glob("vmlinuz-*")
    assert file_digest(vmlinuz) == file_digest(btf_kernel.bzimage)
    modules = list((tmp_path / "root").rglob("serpent*.ko*"))
    assert len(modules) == 1
