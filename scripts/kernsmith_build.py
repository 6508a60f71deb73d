# SPDX-License-Identifier: GPL-2.0-or-later
"""The build backend (PEP 517): maturin's, with what else kernsmith needs inside the wheel.

maturin builds the extension module and packs the Python files. A wheel also has to bring the tracer
(a plugin of QEMU), the program that kbuild calls as its compiler, the guest program, and the data
of the checkout: all of it lies under `kernsmith/_shipped`, by its path in the checkout, while the
wheel is packed, and `kernsmith.paths.shipped` finds it there. An editable installation (`make
setup`) takes everything from the checkout itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

_ROOT = Path(__file__).resolve().parents[1]
_SHIPPED = _ROOT / "src/kernsmith/_shipped"
_DATA = ("configs", "cpus", "studies", "workloads", "guest/programs")
_PROGRAMS = ("libkernsmith_tracer.so", "kernsmith-compiler")
_SUITES = [folder.name for folder in sorted(_ROOT.glob("guest/workloads/*/"))]
_FILES = (
    *(
        f"build/guest/kernsmith-{name}"
        for name in ("guest", "own", "modules", "root", "runner", "service", "systemd")
    ),
    *(f"build/guest/kernsmith-guest-{name}" for name in _SUITES),
    *(f"build/guest/timed/kernsmith-{name}" for name in ("guest", "own")),
    *(f"build/guest/timed/kernsmith-guest-{name}" for name in _SUITES),
    *(str(file.relative_to(_ROOT)) for file in sorted(_ROOT.glob("guest/workloads/**/suite.toml"))),
    "guest/marker.h",
)


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """A wheel that works outside the checkout; returns its file name."""
    try:
        _ship()
        built: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
        return built
    finally:
        shutil.rmtree(_SHIPPED, ignore_errors=True)


def _ship() -> None:
    packages = [word for name in ("tracer", "compiler") for word in ("-p", f"kernsmith-{name}")]
    subprocess.run(["cargo", "build", "--release", *packages], cwd=_ROOT, check=True)
    subprocess.run(["make", "-C", "guest"], cwd=_ROOT, check=True)
    shutil.rmtree(_SHIPPED, ignore_errors=True)
    built = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target")) / "release"
    for name in _PROGRAMS:
        _copy(built / name, f"target/release/{name}")
    for file in _FILES:
        _copy(_ROOT / file, file)
    for folder in _DATA:
        shutil.copytree(_ROOT / folder, _SHIPPED / folder)


def _copy(file: Path, name: str) -> None:
    target = _SHIPPED / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)
