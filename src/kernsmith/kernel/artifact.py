# SPDX-License-Identifier: GPL-2.0-or-later
"""A built kernel: a folder that is named by the content that went into it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernsmith import paths
from kernsmith.arch import DEFAULT, Arch, find_arch
from kernsmith.errors import UserError
from kernsmith.files import use
from kernsmith.kernel.provenance import FILE, read_provenance
from kernsmith.study.factors.modules import INSTALLED

FOLDER_LETTERS = 20
"""So much of its key is the name of a kernel's folder."""
MODULES, MODULES_ARCHIVE = "modules", "modules.cpio"
"""In a kernel's folder: the modules that its guest loads, and the archive that brings them."""
_KEY = re.compile("[0-9a-f]{1,64}")


class DamagedKernel(UserError):
    """What was named was a kernel once."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that is built and complete.

    key: content address over source, config, toolchain, flags and profile.
    folder: holds `vmlinux`, the image for boot loaders, `System.map`, `config`, `build.log`,
        `provenance.json`, kbuild's output in `out/`, relinked images in `layouts/`, and modules in
        `modules/`, if it loads any.
    """

    key: str
    folder: Path
    provenance: dict[str, Any]

    @property
    def vmlinux(self) -> Path:
        """The ELF image in the default layout, with line tables."""
        return self.folder / "vmlinux"

    @property
    def arch(self) -> Arch:
        """The architecture that it is for."""
        return find_arch(self.provenance["variant"].get("arch", DEFAULT))

    @property
    def program(self) -> str:
        """The program that it is the kernel of; empty for kernels that boot."""
        return str(self.provenance.get("program", ""))

    @property
    def bzimage(self) -> Path:
        """The image that a boot loader takes."""
        return self.folder / self.arch.image

    @property
    def system_map(self) -> Path:
        """`System.map` of the default layout."""
        return self.folder / "System.map"

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of the modules that its guest loads, in that order."""
        return tuple(each["name"] for each in self.provenance.get("modules", ()))

    @property
    def on_demand(self) -> bool:
        """Whether its guest has all modules of its config, and loads them when they are wanted."""
        return INSTALLED in (self.provenance["variant"].get("modules") or ())

    @property
    def guest_archive(self) -> Path | None:
        """What is put behind the guest's archive so that these are loaded; None without any."""
        return self.folder / MODULES_ARCHIVE if self.modules else None

    @property
    def order(self) -> list[str]:
        """Functions in the order that the kernel was linked in; empty for the objects' own."""
        path = self.folder / "order"
        return path.read_text(encoding="utf-8").split() if path.exists() else []

    @property
    def output(self) -> Path:
        """kbuild's output folder (`O=`)."""
        return self.folder / "out"

    @property
    def tree(self) -> Path:
        """The folder of source that kbuild read (`make -C`)."""
        command = self.provenance["command"]
        return Path(command[command.index("-C") + 1])

    @property
    def source_words(self) -> str:
        """What it was built from: the source's name and digest."""
        of_kernel = self.provenance["source"]
        return f"{of_kernel['name']} {of_kernel['digest']}"

    @property
    def build_id(self) -> str:
        """Build id of `vmlinux` (hexadecimal), which ties profiles to it."""
        return str(self.provenance["build_id"])


def load_kernel(folder: Path) -> Kernel | None:
    """The kernel in a folder, or None when it is absent, was not finished, or is damaged."""
    provenance = read_provenance(folder)
    return Kernel(provenance["key"], folder, provenance) if provenance else None


def stored_kernel(key: str) -> Kernel | None:
    """The kernel with this key, or None when the store does not hold it. It is in use, with its
    layouts and profiles, until this process ends."""
    kernel = load_kernel(paths.kernels() / key[:FOLDER_LETTERS])
    if kernel is not None:
        use(kernel.folder)
    return kernel


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def named_vmlinux(word: str) -> Path:
    """A `vmlinux` of any origin by its path, or that of a kernel that `named_kernel` knows.

    Raises:
        UserError: neither is there.
    """
    path = Path(word).expanduser()
    return path if path.is_file() else named_kernel(word).vmlinux


def named_kernel(word: str) -> Kernel:
    """A built kernel, by its folder, by a file in it (`vmlinux`), or by the beginning of its key.

    Raises:
        UserError: there is no such kernel, the beginning fits several, or it does not boot.
        DamagedKernel: it is none any more.
    """
    kernel = _named(word)
    if kernel.program:
        raise UserError(
            f"{word!r} is a program with a kernel in it (the machine {kernel.program}): it does "
            "not boot; give one of a study on another machine"
        )
    use(kernel.folder)
    return kernel


def _named(word: str) -> Kernel:
    path = Path(word).expanduser()
    for folder in (path, path.parent):
        if path.exists() and (kernel := load_kernel(folder.absolute())):
            return kernel
        if path.exists() and (folder / FILE).is_file():
            raise DamagedKernel(
                f"{word!r} is a damaged kernel: {FILE} or the images beside it are not as they "
                "were built"
            )
    store = paths.kernels()
    folders = sorted(store.glob(f"{word[:FOLDER_LETTERS]}*")) if _KEY.fullmatch(word) else []
    found = [kernel for folder in folders if (kernel := load_kernel(folder))]
    fitting = [kernel for kernel in found if kernel.key.startswith(word)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UserError(
            f"{word!r} is the beginning of {len(fitting)} kernels' keys: give more of it"
        )
    raise UserError(
        f"{word!r} is no built kernel: give its vmlinux (kernsmith optimize prints the path), its "
        "folder, or the beginning of its key"
    )
