# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are a kernel, in the store beside kernels that boot: with provenance and layouts.

A folder of theirs holds what that of another kernel does, but for kbuild's output and the image for
boot loaders; its provenance has the name of the program.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernsmith import __version__, paths
from kernsmith.files import locked, replacing, write_text
from kernsmith.kernel.artifact import (
    FOLDER_LETTERS,
    Kernel,
    file_digest,
    load_kernel,
    stored_kernel,
)
from kernsmith.kernel.link import layout_image
from kernsmith.kernel.make import REPRODUCIBLE
from kernsmith.kernel.provenance import PROVENANCE_VERSION, write_provenance
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import LLD, Compiler, find_toolchain
from kernsmith.layout import layout_name
from kernsmith.process import run
from kernsmith.silicon.binaries import DEFAULT, Objects, link_layouts, order_path
from kernsmith.silicon.uml import make_command
from kernsmith.study.variant import Variant, digest_of

_SECONDS = 900.0
# Of what lies in such a folder: a change makes other kernels.
_FORMAT = 2
# Beside the objects: the key of the kernel that was stored of them.
_KEY = "stored"


@dataclass(frozen=True)
class Made:
    """What a variant's program was made of. seconds: how long that took, what was there included.

    linker: the clang that calls lld.
    """

    variant: Variant
    source: Source
    compiler: Compiler
    linker: Compiler
    objects: Objects
    seconds: float


def store_program(made: Made) -> Kernel:
    """Link a program in its default layout and keep it; what is there is taken.

    Raises:
        ProcessFailed: the linker's own error.
    """
    binary = link_layouts(made.objects, (DEFAULT,), made.linker)[0].path
    program, output = made.objects.program, made.objects.kernel
    assert output is not None
    key = digest_of([_FORMAT, made.objects.folder.name, output.parent.name, binary.name])
    folder = paths.kernels() / key[:FOLDER_LETTERS]
    write_text(made.objects.folder / _KEY, key)
    with locked(folder / "lock"):
        if kernel := load_kernel(folder):
            return kernel
        _place(binary, folder / "vmlinux")
        symbols = run(["nm", "-n", str(binary)], timeout=_SECONDS).output
        write_text(folder / "System.map", symbols)
        shutil.copyfile(output / ".config", folder / "config")
        provenance = _provenance(made, key, folder) | {"program": program.name}
        return Kernel(key, folder, write_provenance(folder, provenance))


def find_stored(folder: Path) -> Kernel | None:
    """The kernel that was stored of the objects in a folder, if it is still there."""
    known = folder / _KEY
    return stored_kernel(known.read_text(encoding="utf-8")) if known.exists() else None


def link_stored(kernel: Kernel, made: Made, seed: str) -> Path:
    """The image of a stored program in the random layout of a seed; one that is there is taken.

    Raises:
        ProcessFailed: the linker's own error.
    """
    if not seed:
        return kernel.vmlinux
    binary = link_layouts(made.objects, (f"random:{seed}",), made.linker)[-1].path
    image = find_image(kernel, made.objects.folder, seed)
    assert image is not None
    if not image.exists():
        _place(binary, image)
    return image


def find_image(kernel: Kernel, folder: Path, seed: str) -> Path | None:
    """Where the image of a seed is or will be; None before its order was drawn.

    folder: of the objects. seed: empty for the default layout.
    """
    if not seed:
        return kernel.vmlinux
    drawn = order_path(folder, f"random:{seed}")
    if not drawn.exists():
        return None
    order = drawn.read_text(encoding="utf-8").split()
    return layout_image(kernel, layout_name("random", order))


def _place(built: Path, target: Path) -> None:
    with replacing(target) as path:
        with suppress(OSError):
            os.link(built, path)
        if not path.exists():
            shutil.copy(built, path)


def _provenance(made: Made, key: str, folder: Path) -> dict[str, Any]:
    program, output = made.objects.program, made.objects.kernel
    assert output is not None and program.kernel is not None
    variant, source = made.variant, made.source
    toolchain = find_toolchain(made.compiler.name, LLD)
    build = made.objects.build
    members = run(["ar", "t", str(output / "vmlinux.a")], timeout=_SECONDS).output
    return {
        "version": PROVENANCE_VERSION,
        "kernsmith": __version__,
        "key": key,
        "source": {"name": source.name, "version": source.version, "digest": source.digest},
        "variant": variant.identity()
        | {
            "name": variant.name,
            "compiler": made.compiler.name,
            "linker": toolchain.linker.program,
        },
        "compiler": made.compiler.banner,
        "linker": toolchain.linker.banner,
        "contents": dict(toolchain.contents),
        "command": [
            *make_command(program.kernel, made.objects.flags, made.compiler, output),
            "vmlinux",
        ],
        "environment": REPRODUCIBLE,
        "config_sha256": file_digest(folder / "config"),
        "patch": "",
        "profiles": [
            {"step": build.profile, "sha256": [file_digest(file)]} for file in made.objects.profile
        ],
        "vmlinux_sha256": file_digest(folder / "vmlinux"),
        "build_id": "",
        "objects": len(members.split()),
        "text_bytes": _text_bytes(folder / "vmlinux"),
        "seconds": round(made.seconds, 3),
        "built_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "built_on": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
        },
    }


def _text_bytes(binary: Path) -> int:
    """Of all sections with code; what lies between them is not."""
    sections = run(["readelf", "-SW", str(binary)], timeout=_SECONDS).output
    sizes = re.findall(r"PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +W?AX ", sections)
    return sum(int(size, 16) for size in sizes)
