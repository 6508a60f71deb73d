# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes the initramfs in a Debian that gets a package: two tools that Debian has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InitramfsTool:
    """One of the two; the scripts of a kernel's package call it.

    packages: Debian's, that have it. prepare: shell commands in the new root's folder, before the
        kernel is installed. sign: a shell condition that holds where it has made the initramfs that
        was booted.
    """

    name: str
    packages: tuple[str, ...]
    prepare: str
    sign: str


INITRAMFS_TOOLS = {
    each.name: each
    for each in (
        InitramfsTool(
            "initramfs-tools",
            ("initramfs-tools",),
            "",
            "test -d /run/initramfs && ! journalctl -b | grep -q dracut",
        ),
        InitramfsTool(
            "dracut",
            ("dracut", "dracut-config-generic"),
            # What every kernel here can unpack; initramfs-tools looks into its config for that.
            "echo 'compress=\"gzip\"' > etc/dracut.conf.d/kernsmith.conf\n",
            "journalctl -b | grep -q dracut",
        ),
    )
}
"""By name. With dracut, the drivers of all disks are in it, not those of the host alone."""
