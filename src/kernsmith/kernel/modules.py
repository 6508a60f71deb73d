# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules of a kernel: those that its guest loads, kept beside `vmlinux` with all that is in them.

kbuild makes all that the config has as `m`. Of these the kernel's folder keeps the ones that are
to be loaded and those that they depend on, in `modules/`, and an archive for the guest,
`modules.cpio`, with the files, their order, and the program that loads them (guest/modules).

Or all of them are installed, as `make modules_install` does it: the archive has /lib/modules then,
as a layer above the guest's root, and the program that its kernel starts for a module that somebody
wants.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernsmith import process
from kernsmith.errors import ProgramMissing, UserError
from kernsmith.files import copy_file, write_bytes
from kernsmith.guest.initramfs import Member, build_layer, build_members, read_program
from kernsmith.guest.workloads import module_loader, module_prober
from kernsmith.kernel.artifact import MODULES, MODULES_ARCHIVE, Kernel, file_digest
from kernsmith.study.factors.modules import INSTALLED

TARGET = "modules"
"""What make is told beside a kernel's images."""
FORMAT = 3
"""Part of the keys of kernels with modules: changes with what is done here or in the loader."""
LINK_SCRIPT_OF_MODULES = "modules-in-groups.lds"
"""In kbuild's output: what comes before the tree's own script (scripts/module.lds.S)."""
TEXT_IN_GROUPS = """\
/* Code of modules as the kernel's own linker script has it: cold and split-off code, hot functions,
 * all others. */
SECTIONS
{
	.text 0 : {
		*(.text.unlikely .text.unlikely.*)
		*(.text.split .text.split.*)
		*(.text.hot .text.hot.*)
		*(.text .text.[0-9a-zA-Z_]*)
	}
}
"""
# modpost writes it into the C file that a module's description is compiled from.
_DEPENDS = re.compile(r'^MODULE_INFO\(depends, "([^"]*)"\);$', re.MULTILINE)
# What a kernel lets modules be called (MODULE_NAME_LEN), and what a guest's list has.
_NAME = re.compile(r"[A-Za-z0-9_]{1,55}")
_SHOWN = 12
# Where guest/modules/load.c and guest/root/root.c look for it.
_LAYER = "modules/layer"


@dataclass(frozen=True)
class Module:
    """A module that kbuild has made.

    file: below kbuild's output: `crypto/serpent_generic.ko`. needs: names of others.
    """

    name: str
    file: Path
    needs: tuple[str, ...]


def module_name(word: str) -> str:
    """What a running kernel calls a module that a user names: `snd-pcm.ko` is `snd_pcm`.

    Raises:
        UserError: no module can have this name.
    """
    name = Path(word).name.removesuffix(".ko").replace("-", "_")
    if name != word.removesuffix(".ko").replace("-", "_") or not _NAME.fullmatch(name):
        raise UserError(f"{word[:80]!r} is not the name of a module")
    return name


def built_modules(output: Path) -> dict[str, Module]:
    """All modules that kbuild has made, by name."""
    found = {}
    for line in _lines(output / "modules.order"):
        stem = Path(line).with_suffix("")
        described = (output / f"{stem}.mod.c").read_text(encoding="utf-8")
        depends = _DEPENDS.search(described)
        needs = depends[1].split(",") if depends and depends[1] else []
        name = module_name(stem.name)
        found[name] = Module(name, stem.with_suffix(".ko"), tuple(map(module_name, needs)))
    return found


def load_order(wanted: Iterable[str], output: Path) -> list[Module]:
    """The modules to load, each behind those that it needs.

    What is wanted and built in is there already, and left out.

    Raises:
        UserError: the build has no such module.
    """
    built = built_modules(output)
    built_in = {module_name(Path(line).name) for line in _lines(output / "modules.builtin")}
    order: dict[str, Module] = {}

    def add(name: str, needed_by: str) -> None:
        if name in order or name in built_in:
            return
        if name not in built:
            raise UserError(_missing(name, needed_by, built))
        for need in built[name].needs:
            add(need, name)
        order[name] = built[name]

    for word in wanted:
        add(module_name(word), "")
    return list(order.values())


def _missing(name: str, needed_by: str, built: Mapping[str, Module]) -> str:
    for_whom = f", which {needed_by} needs" if needed_by else ""
    known = sorted(built)
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    has = f"its modules are {', '.join(known[:_SHOWN])}{more}" if known else "it has none"
    return f"the kernel has no module {name!r}{for_whom}: {has}"


def check_modules(wanted: Sequence[str], symbols: Mapping[str, str]) -> None:
    """That a config lets modules be loaded, if any are wanted; before anything is compiled.

    Raises:
        UserError: it does not.
        ProgramMissing: depmod, which makes the tables of modules that are installed, is not here.
    """
    # As scripts/depmod.sh of the tree looks for it.
    where = f"{process.search_path()}:/sbin:/usr/sbin"
    if INSTALLED in wanted and shutil.which("depmod", path=where) is None:
        raise ProgramMissing("depmod", process.remedy("depmod"))
    if wanted and symbols.get("MODULES", "n") != "y":
        raise UserError(
            f"the modules {', '.join(wanted)} cannot be loaded: the config does not set "
            "CONFIG_MODULES"
        )


def place_modules(
    wanted: Sequence[str], output: Path, folder: Path, install: Callable[[Path], None]
) -> list[dict[str, Any]]:
    """Keep the modules to load in a kernel's folder, and make the guest's archive of them.

    install: has kbuild install all modules below a folder.

    Returns what the provenance says of each, in the order in which they are loaded.

    Raises:
        UserError: the build has no such module, or the loader has not been built.
    """
    on_demand = INSTALLED in wanted
    order = load_order(built_modules(output) if on_demand else wanted, output)
    files = {}
    for module in order:
        target = folder / MODULES / f"{module.name}.ko"
        copy_file(output / module.file, target)
        if not on_demand:
            files[target.name] = target.read_bytes()
    files["list"] = "".join(name.removesuffix(".ko") + "\n" for name in files).encode()
    archive = build_layer("modules", {"load": read_program(module_loader())}, files)
    if on_demand and order:
        archive += _layer(install)
    write_bytes(folder / MODULES_ARCHIVE, archive)
    return [
        {
            "name": module.name,
            "file": str(module.file),
            "sha256": file_digest(folder / MODULES / f"{module.name}.ko"),
        }
        for module in order
    ]


def installation(below: Path) -> tuple[str, ...]:
    """What make is told to install all modules below a folder: without debugging information, and
    not compressed, for what loads them reads them as they are."""
    plain = ("CONFIG_MODULE_COMPRESS_ALL=", "suffix-y=")  # the second of trees before Linux 6.12
    return (f"INSTALL_MOD_PATH={below}", "INSTALL_MOD_STRIP=1", *plain, "modules_install")


def _layer(install: Callable[[Path], None]) -> bytes:
    """An archive with what `make modules_install` installs, and who loads it."""
    with tempfile.TemporaryDirectory(prefix="kernsmith-modules-") as name:
        install(Path(name))
        below = Path(name) / "lib"
        files = {
            path.relative_to(below): None if path.is_dir() else path.read_bytes()
            for path in sorted(below.rglob("*"))
            if not path.is_symlink()  # to the source, and to where it was built
        }
    prober = read_program(module_prober())
    return build_members(
        [
            *(Member(f"{_LAYER}/{part}") for part in ("", "usr", "usr/lib", "usr/lib/kernsmith")),
            Member(f"{_LAYER}/usr/lib/kernsmith/modprobe", prober, executable=True),
            *(Member(f"{_LAYER}/usr/lib/{path}", content) for path, content in files.items()),
        ]
    )


def carry_modules(kernel: Kernel, folder: Path) -> None:
    """Give a kernel's modules to another one of the same objects, in a folder of its own.

    They name what they call: wherever the kernel has it, they fit.
    """
    if kernel.guest_archive is None:
        return
    for name in kernel.modules:
        copy_file(kernel.folder / MODULES / f"{name}.ko", folder / MODULES / f"{name}.ko")
    copy_file(kernel.guest_archive, folder / MODULES_ARCHIVE)


def module_objects(output: Path) -> dict[str, tuple[str, ...]]:
    """The objects that each module is made of, as kbuild names them, by the module's name."""
    return {
        name: tuple(_lines(output / module.file.with_suffix(".mod")))
        for name, module in built_modules(output).items()
    }


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split() if path.exists() else []
