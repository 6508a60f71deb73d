# SPDX-License-Identifier: GPL-2.0-or-later
"""source + variant → kernel: config, kbuild, artifact. Reproducible, resumable, cached."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kernsmith import __version__, paths, process
from kernsmith.arch import Arch
from kernsmith.errors import KernsmithError, ProcessFailed, UserError
from kernsmith.files import copy_file, locked, write_text
from kernsmith.kernel.artifact import (
    FOLDER_LETTERS,
    Kernel,
    file_digest,
)
from kernsmith.kernel.compile_cache import (
    compiled_and_found,
    write_compiler,
)
from kernsmith.kernel.config import check_config, parse_config, render_config
from kernsmith.kernel.link import NOTING_SCRIPT, place_script, record_link
from kernsmith.kernel.link_rules import FILE as LINKS_FILE
from kernsmith.kernel.link_rules import write_link_rules
from kernsmith.kernel.make import COUNTERS_SCRIPT, REPRODUCIBLE, build_environment, make_command
from kernsmith.kernel.modules import (
    LINK_SCRIPT_OF_MODULES,
    TEXT_IN_GROUPS,
    check_modules,
    installation,
    place_modules,
)
from kernsmith.kernel.object_rules import FILE, write_rules
from kernsmith.kernel.provenance import PROVENANCE_VERSION, write_provenance
from kernsmith.kernel.recipe import Recipe
from kernsmith.kernel.script_patch import place_patched
from kernsmith.kernel.simd import unasked
from kernsmith.kernel.source import Source, resolve_source
from kernsmith.kernel.standing import clear_for, standing_kernel
from kernsmith.kernel.taken_objects import read_linked, read_taken, unmatched

BUILD_SECONDS = 4 * 3600.0
COMPILED = re.compile(r"^  (?:CC|AS)\s.*?(\S+)$")  # what kbuild says of each file that is compiled
# What went wrong, of a parallel build: other jobs go on printing after it.
_MISTAKE = re.compile(r"\berror\b: |\*\*\* \[|^ERROR: |undefined (symbol|reference)")
_MISTAKES_SHOWN = 12
_FUNCTIONS_SHOWN = 5
_CACHE_LOG = "ccache.log"
Progress = Callable[[int, int], None]


class BuildFailed(KernsmithError):
    """A kernel that does not build; the message shows the command, the last lines, the log."""


def build_kernel(
    recipe: Recipe,
    *,
    store: Path | None = None,
    on_progress: Progress = lambda done, of: None,
    check: Callable[[Mapping[str, str]], None] = lambda symbols: None,
    alone: bool = False,
) -> Kernel:
    """Build a kernel, or return the one that was built before.

    A build that was killed goes on where it stopped. Two processes that want the same kernel
    build it once.

    store: the folder of all kernels.
    on_progress: called with (objects compiled so far, objects expected or 0).
    check: called with all symbols of the effective `.config` before anything is compiled; may
        raise.
    alone: whether no other kernel with the same flags is to be compiled (see
        `cache_environment`).

    Raises:
        UserError: config symbols that do not exist or were dropped.
        BuildFailed: kbuild ended with an error, or one of the variant's flags let the compiler use
            registers that a kernel keeps for user space.
    """
    folder = _folder(recipe, store)
    if kernel := standing_kernel(folder, recipe.source):
        return kernel
    with locked(folder / "lock"):
        if kernel := standing_kernel(folder, recipe.source):
            return kernel
        clear_for(folder, recipe.source)
        started = time.monotonic()
        resumed = _keep_log(folder)
        _configure(recipe, folder)
        symbols = parse_config((folder / "out/.config").read_text(encoding="utf-8"))
        check_modules(recipe.modules, symbols)
        check(symbols)
        _compile(recipe, folder, on_progress, resumed, alone)
        _check_unchanged(recipe.source)
        return _finish(recipe, folder, time.monotonic() - started)


def find_kernel(recipe: Recipe) -> Kernel | None:
    """The kernel, if it was built before and still has its source."""
    return standing_kernel(_folder(recipe, None), recipe.source)


def _folder(recipe: Recipe, store: Path | None) -> Path:
    return (store or paths.kernels()) / recipe.key[:FOLDER_LETTERS]


def _configure(recipe: Recipe, folder: Path) -> None:
    output = folder / "out"
    output.mkdir(exist_ok=True)
    write_compiler(folder, recipe.source.path)
    write_rules(folder, recipe.variant.objects, recipe.toolchain.compiler, recipe.variant.arch)
    write_link_rules(folder, recipe.variant.links)
    if recipe.patch:
        place_patched(recipe.patch, output, recipe.arch)
    config = output / ".config"
    if not recipe.complete:
        _make(recipe, folder, "tinyconfig.log", "tinyconfig")
    base = "" if recipe.complete else config.read_text()
    config.write_text(base + render_config(recipe.requested))
    _make(recipe, folder, "olddefconfig.log", "olddefconfig")
    if recipe.only_modules is not None:
        _leave_out_modules(recipe, recipe.only_modules, folder)
    check_config(recipe.required, config.read_text(), recipe.source.path)


def _leave_out_modules(recipe: Recipe, names: Iterable[str], folder: Path) -> None:
    """Have kbuild take all modules out of the config but some, and what these depend on."""
    listed = folder / "modules.list"
    write_text(listed, "".join(f"{name}\n" for name in names))
    _make(recipe, folder, "localmodconfig.log", f"LSMOD={listed}", "localmodconfig")
    config = folder / "out/.config"
    config.write_text(config.read_text() + render_config(recipe.required))
    _make(recipe, folder, "olddefconfig.log", "olddefconfig")


def _keep_log(folder: Path) -> set[str]:
    """Put aside the log of a build that was killed; returns the objects that it compiled."""
    logs = sorted(folder.glob("build.*.log"))
    if (folder / "build.log").exists():
        logs.append((folder / "build.log").replace(folder / f"build.{len(logs) + 1}.log"))
    return _compiled_in(logs)


def _compiled_in(logs: Iterable[Path]) -> set[str]:
    """The objects that were compiled, whether once or, because of a kill, again."""
    lines = (
        line
        for log in logs
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
    )
    return {found[1] for line in lines if (found := COMPILED.match(line))}


def _check_unchanged(source: Source) -> None:
    """That a folder of the user's has still the content that the kernel is filed under."""
    if source.path.is_relative_to(paths.sources()):
        return
    if resolve_source(str(source.path), paths.sources()).digest != source.digest:
        raise UserError(f"{source.path} was changed while it was being built: run the same again")


def _compile(
    recipe: Recipe, folder: Path, on_progress: Progress, resumed: set[str], alone: bool
) -> None:
    compiled = set(resumed)

    def count(line: str) -> None:
        if found := COMPILED.match(line):
            compiled.add(found[1])
            # What a config expects was counted on another day: compilers and tools come and go.
            on_progress(len(compiled), recipe.objects and max(recipe.objects, len(compiled)))

    if counters := recipe.instrumentation:
        (folder / "out" / COUNTERS_SCRIPT).write_text(counters.script)
    if recipe.groups_modules:
        write_text(folder / "out" / LINK_SCRIPT_OF_MODULES, TEXT_IN_GROUPS)
    place_script(folder / "out", NOTING_SCRIPT)
    _make(
        recipe,
        folder,
        "build.log",
        f"-j{os.cpu_count() or 1}",
        *recipe.targets,
        on_line=count,
        alone=alone,
    )


def _make(
    recipe: Recipe,
    folder: Path,
    log: str,
    *arguments: str,
    on_line: Callable[[str], None] | None = None,
    alone: bool = False,
) -> None:
    command = make_command(recipe, folder / "out", *arguments)
    environment = build_environment(recipe.toolchain.compilers, alone=alone) | {
        "KERNSMITH_LINK": str(folder / "link.env"),
        "CCACHE_STATSLOG": str(folder / _CACHE_LOG),
    }
    mistakes: list[str] = []

    def read(line: str) -> None:
        if _MISTAKE.search(line) and len(mistakes) < _MISTAKES_SHOWN:
            mistakes.append(line.strip().replace(f"{recipe.source.path}/", ""))
        if on_line:
            on_line(line)

    try:
        process.run(
            command,
            log=folder / log,
            timeout=BUILD_SECONDS,
            env=environment,
            on_line=read,
            capture=False,
        )
    except ProcessFailed as error:
        shown = "".join(f"\n    {line}" for line in mistakes)
        raise BuildFailed(
            f"the kernel {recipe.variant.name!r} does not build:{shown}\n{error}"
        ).because_of(error) from error


def _finish(recipe: Recipe, folder: Path, seconds: float) -> Kernel:
    _check_rules(recipe, folder)
    place_images(folder / "out", folder, recipe.arch)
    record_link(folder)
    for order in (profile.symbol_order for profile in recipe.read_profiles):
        if order:
            copy_file(order, folder / "order")
    provenance = _provenance(recipe, folder, seconds) | {
        "simd": {"beyond": list(_check_registers(recipe, folder))}
    }
    if recipe.modules:
        provenance["modules"] = place_modules(
            recipe.modules,
            folder / "out",
            folder,
            lambda below: _make(recipe, folder, "modules_install.log", *installation(below)),
        )
    images = (Path(recipe.arch.booted).name, recipe.arch.image)
    provenance = write_provenance(folder, provenance, *images)
    return Kernel(recipe.key, folder, provenance)


def _check_registers(recipe: Recipe, folder: Path) -> tuple[str, ...]:
    """The functions that use registers of user space unasked, where no flag is the reason."""
    found = unasked(recipe, folder / "vmlinux", folder / "out")
    if found.flags:
        more = ", …" if len(found.functions) > _FUNCTIONS_SHOWN else ""
        flags = " ".join(found.flags)
        raise BuildFailed(
            f"the kernel {recipe.variant.name!r} would corrupt the vector or floating-point "
            f"registers of programs: {flags} lets the compiler use them in "
            f"{len(found.functions)} functions ({', '.join(found.functions[:_FUNCTIONS_SHOWN])}"
            f"{more}); build it without {flags}"
        )
    return found.functions


def _check_rules(recipe: Recipe, folder: Path) -> None:
    """That every pattern of a rule for objects is of one that was compiled."""
    if recipe.variant.objects and (patterns := unmatched(folder / FILE)):
        raise BuildFailed(
            f"the kernel {recipe.variant.name!r} has no object that is compiled from C and called "
            f"{', '.join(patterns)}: objects.match names objects as kbuild does, such as "
            "fs/pipe.o; what runs before the kernel or in user space has whole names only"
        )


def place_images(output: Path, folder: Path, arch: Arch) -> None:
    """Put what a kernel is booted and known by from kbuild's output into the kernel's folder."""
    for name in ("vmlinux", arch.booted):
        _place(output / name, folder / Path(name).name)
    _place(output / "System.map", folder / "System.map")
    _place(output / ".config", folder / "config")
    _place(output / arch.image_file, folder / arch.image)


def read_build_id(readelf: str, image: Path) -> str:
    """The build id of an ELF image in hexadecimal; empty when it has none."""
    notes = process.run([readelf, "--notes", image], log=None, timeout=60).output
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return found[1] if found else ""


def _place(built: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(built, target)
    except OSError:
        shutil.copyfile(built, target)


def _provenance(recipe: Recipe, folder: Path, seconds: float) -> dict[str, Any]:
    source, toolchain = recipe.source, recipe.toolchain
    compiled = compiled_and_found(folder / _CACHE_LOG)
    return {
        "version": PROVENANCE_VERSION,
        "kernsmith": __version__,
        "key": recipe.key,
        "source": {"name": source.name, "version": source.version, "digest": source.digest},
        "variant": recipe.variant.identity()
        | {
            "name": recipe.variant.name,
            "compiler": toolchain.compiler.name,
            "linker": toolchain.linker.program,
        },
        "compiler": toolchain.compiler.banner,
        "linker": toolchain.linker.banner,
        "contents": dict(recipe.contents),
        "rust": recipe.rust.banner if recipe.rust else "",
        "command": make_command(recipe, folder / "out", *recipe.targets),
        "environment": REPRODUCIBLE,
        "config_sha256": file_digest(folder / "config"),
        "patch": recipe.patch.diff if recipe.patch else "",
        "backported": list(recipe.backported),
        "profiles": [
            {"step": profile.kind.name, "sha256": [file_digest(file) for file in profile.read]}
            for profile in recipe.profiles
        ],
        "linked": read_linked(folder / LINKS_FILE),
        "taken": {each.object: [each.program, each.reason] for each in read_taken(folder / FILE)},
        "vmlinux_sha256": file_digest(folder / "vmlinux"),
        "build_id": read_build_id(toolchain.tool("llvm-readelf"), folder / "vmlinux"),
        "objects": len(_compiled_in(folder.glob("build*.log"))),
        "compiled": compiled[0] if compiled else None,
        "resumed": len(list(folder.glob("build.*.log"))),
        "seconds": round(seconds, 3),
        "built_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "built_on": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
        },
    }
