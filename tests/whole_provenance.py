# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels in the store that nobody has built: what every kernel's folder must say of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernsmith.kernel.provenance import PROVENANCE_VERSION

VARIANT = {"name": "made", "compiler": "clang-22", "linker": "ld.lld-22"}


def provenance(key: str, **more: Any) -> dict[str, Any]:
    """As of a kernel with this key. more: what is in it besides, or instead; of the variant, what
    is not said stays."""
    whole = {
        "version": PROVENANCE_VERSION,
        "key": key,
        "command": ["make", "-C", "/nowhere/linux"],
        "source": {"name": "linux-7.3", "version": "7.3", "digest": "sha256:0"},
        "build_id": "",
    }
    return whole | more | {"variant": VARIANT | more.get("variant", {})}


def put_kernel(folder: Path, key: str, **more: Any) -> dict[str, Any]:
    """Write a kernel's folder with that and an image, and nothing else; returns what it says."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vmlinux").write_bytes(b"\x7fELF")
    told = provenance(key, **more)
    (folder / "provenance.json").write_text(json.dumps(told))
    return told
