# SPDX-License-Identifier: GPL-2.0-or-later
"""source + variant → kernel: config, kbuild, artifact. Reproducible, resumable, cached."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernsmith import __version__, paths, process
from kernsmith.errors import KernsmithError, ProcessFailed
from kernsmith.kernel.artifact import PROVENANCE_VERSION, Kernel, file_digest, load_kernel
from kernsmith.kernel.config import check_config, read_fragment, render_config
from kernsmith.kernel.link import LINK_SHELL, record_link
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import Toolchain, find_toolchain
from kernsmith.study.variant import Variant, digest_of

# Changes whenever the way of building changes in a manner that the other inputs do not show.
RECIPE = 1
BUILD_SECONDS = 4 * 3600.0
_COMPILED = re.compile(r"^  (CC|AS)\s")

# What makes two builds of one variant equal: nothing of this machine and this moment enters.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
    "KBUILD_BUILD_USER": "kernsmith",
    "KBUILD_BUILD_HOST": "kernsmith",
    "KBUILD_BUILD_VERSION": "1",
    "SOURCE_DATE_EPOCH": "1767225600",
    "LC_ALL": "C",
    "TZ": "UTC",
}

Progress = Callable[[int, int], None]


class BuildFailed(KernsmithError):
    """A kernel that does not build; the message shows the command, the last lines, the log."""


@dataclass(frozen=True)
class Recipe:
    """All inputs of one build, resolved.

    profile: an AutoFDO profile for the compiler, or None.
    """

    variant: Variant
    source: Source
    toolchain: Toolchain
    requested: Mapping[str, str]
    complete: bool
    objects: int
    profile: Path | None

    @property
    def key(self) -> str:
        """Content address of the kernel: equal inputs, equal key."""
        identity = self.variant.identity()
        del identity["source"], identity["config"], identity["profile"], identity["options"]
        return digest_of(
            {
                "recipe": RECIPE,
                "source": self.source.digest,
                "variant": identity,
                "config": [self.complete, sorted(self.requested.items())],
                "toolchain": self.toolchain.banners,
                "profile": file_digest(self.profile) if self.profile else None,
            }
        )


def make_recipe(variant: Variant, source: Source, profile: Path | None) -> Recipe:
    """Resolve a variant's words: config, compiler, linker.

    Raises:
        UserError: unknown config or compiler.
    """
    fragment = read_fragment(variant.config)
    return Recipe(
        variant=variant,
        source=source,
        toolchain=find_toolchain(variant.compiler),
        requested=dict(fragment.symbols) | dict(variant.options),
        complete=fragment.complete,
        objects=fragment.objects,
        profile=profile,
    )


def build_kernel(
    recipe: Recipe, *, store: Path | None = None, on_progress: Progress = lambda done, of: None
) -> Kernel:
    """Build a kernel, or return the one that was built before.

    A build that was killed goes on where it stopped. Two processes that want the same kernel
    build it once.

    store: the folder of all kernels.
    on_progress: called with (objects compiled so far, objects expected or 0).

    Raises:
        UserError: config symbols that do not exist or were dropped.
        BuildFailed: kbuild ended with an error.
    """
    folder = (store or paths.kernels()) / recipe.key[:20]
    if kernel := load_kernel(folder):
        return kernel
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock"):
        if kernel := load_kernel(folder):
            return kernel
        started = time.monotonic()
        _configure(recipe, folder)
        objects = _compile(recipe, folder, on_progress)
        return _finish(recipe, folder, objects, time.monotonic() - started)


def make_command(recipe: Recipe, output: Path, *arguments: str) -> list[str]:
    """The `make` command line of a build, with everything that the variant asks for."""
    variables = dict(recipe.toolchain.make_variables)
    if shutil.which("ccache"):
        variables["CC"] = f"ccache {variables['CC']}"
    here = [f"-ffile-prefix-map={output}=.", f"-ffile-prefix-map={recipe.source.path}/="]
    variables["KCFLAGS"] = " ".join([*here, "-ffunction-sections", *recipe.variant.flags])
    variables["KAFLAGS"] = " ".join(here)
    if recipe.profile:
        variables["CLANG_AUTOFDO_PROFILE"] = str(recipe.profile)
    pairs = [f"{name}={value}" for name, value in variables.items()]
    return ["make", "-C", str(recipe.source.path), f"O={output}", *pairs, *arguments]


def build_environment() -> dict[str, str | None]:
    """Environment of kbuild and of relinks: reproducible, with kernsmith's own ccache."""
    return {
        **REPRODUCIBLE,
        "CCACHE_DIR": str(paths.ccache()),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_MAXSIZE": "20G",
        "CROSS_COMPILE": None,
        "ARCH": None,
        "KCFLAGS": None,
        "KCPPFLAGS": None,
    }


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file; the system gives it back however this process ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _configure(recipe: Recipe, folder: Path) -> None:
    output = folder / "out"
    output.mkdir(exist_ok=True)
    config = output / ".config"
    if not recipe.complete:
        _make(recipe, folder, "config.log", "tinyconfig")
    base = "" if recipe.complete else config.read_text()
    config.write_text(base + render_config(recipe.requested))
    _make(recipe, folder, "config.log", "olddefconfig")
    effective = config.read_text()
    if not recipe.complete:
        check_config(recipe.requested, effective, recipe.source.path)
    else:
        check_config(dict(recipe.variant.options), effective, recipe.source.path)


def _compile(recipe: Recipe, folder: Path, on_progress: Progress) -> int:
    compiled = 0

    def count(line: str) -> None:
        nonlocal compiled
        if _COMPILED.match(line):
            compiled += 1
            on_progress(compiled, recipe.objects)

    shell = folder / "link-shell"
    shell.write_text(LINK_SHELL)
    shell.chmod(0o755)
    _make(
        recipe,
        folder,
        "build.log",
        f"SHELL={shell}",
        f"-j{os.cpu_count() or 1}",
        "vmlinux",
        "bzImage",
        on_line=count,
    )
    return compiled


def _make(
    recipe: Recipe,
    folder: Path,
    log: str,
    *arguments: str,
    on_line: Callable[[str], None] | None = None,
) -> None:
    command = make_command(recipe, folder / "out", *arguments)
    environment = build_environment() | {"KERNSMITH_LINK": str(folder / "link.env")}
    try:
        process.run(
            command,
            log=folder / log,
            timeout=BUILD_SECONDS,
            env=environment,
            on_line=on_line,
            capture=False,
        )
    except ProcessFailed as error:
        raise BuildFailed(f"the kernel {recipe.variant.name!r} does not build: {error}") from error


def _finish(recipe: Recipe, folder: Path, objects: int, seconds: float) -> Kernel:
    output = folder / "out"
    _place(output / "vmlinux", folder / "vmlinux")
    _place(output / "System.map", folder / "System.map")
    _place(output / ".config", folder / "config")
    _place(output / "arch/x86/boot/bzImage", folder / "bzImage")
    record_link(folder)
    provenance = _provenance(recipe, folder, objects, seconds)
    temporary = folder / "provenance.json.new"
    temporary.write_text(json.dumps(provenance, indent=2, sort_keys=True) + "\n")
    temporary.replace(folder / "provenance.json")
    return Kernel(recipe.key, folder, provenance)


def _place(built: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(built, target)
    except OSError:
        shutil.copyfile(built, target)


def _provenance(recipe: Recipe, folder: Path, objects: int, seconds: float) -> dict[str, Any]:
    source, toolchain = recipe.source, recipe.toolchain
    notes = process.run(
        [toolchain.tool("llvm-readelf"), "--notes", folder / "vmlinux"], log=None, timeout=60
    ).output
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return {
        "version": PROVENANCE_VERSION,
        "kernsmith": __version__,
        "key": recipe.key,
        "source": {"name": source.name, "version": source.version, "digest": source.digest},
        "variant": recipe.variant.identity() | {"name": recipe.variant.name},
        "compiler": dict(toolchain.banners)["compiler"],
        "linker": dict(toolchain.banners)["linker"],
        "command": make_command(recipe, folder / "out", "vmlinux", "bzImage"),
        "environment": REPRODUCIBLE,
        "config_sha256": file_digest(folder / "config"),
        "profile_sha256": file_digest(recipe.profile) if recipe.profile else None,
        "vmlinux_sha256": file_digest(folder / "vmlinux"),
        "build_id": found[1] if found else "",
        "objects": objects,
        "seconds": round(seconds, 3),
        "built_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "built_on": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
        },
    }
