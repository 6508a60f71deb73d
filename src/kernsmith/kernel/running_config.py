# SPDX-License-Identifier: GPL-2.0-or-later
"""The config of the kernel that this host runs."""

from __future__ import annotations

import gzip
import platform
from pathlib import Path

from kernsmith.errors import UserError


def running_config(root: Path = Path("/"), release: str = "") -> tuple[str, str]:
    """The config of the running kernel, and where it was found.

    root, release: of the host, and what `uname -r` says there; for tests.

    Raises:
        UserError: neither /boot nor /proc have it.
    """
    release = release or platform.release()
    for place in (f"boot/config-{release}", f"lib/modules/{release}/config", "proc/config.gz"):
        path = root / place
        try:
            content = path.read_bytes()
            text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        except (OSError, EOFError, UnicodeDecodeError):
            continue
        return text, f"{release} (/{place})"
    raise UserError(
        f"no config of the running kernel {release}: there is no /boot/config-{release}, and no "
        "/proc/config.gz (a kernel with CONFIG_IKCONFIG_PROC has that; where it is a module: "
        "modprobe configs); give a file, or debian:FLAVOUR"
    )
