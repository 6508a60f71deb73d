# SPDX-License-Identifier: GPL-2.0-or-later
"""What is laid above a root whose own systemd is to be process 1: kernsmith's unit, and no more.

The image stays as it is kept: `guest/root/root.c` mounts these files as one layer more of the
overlay. systemd starts all that the root's packages have enabled, then the unit, which runs the
workload and ends the guest.
"""

from __future__ import annotations

from pathlib import Path

from kernsmith.guest.initramfs import Member, read_program
from kernsmith.paths import shipped

SYSTEMD_NEEDS = (
    "CONFIG_CGROUPS", "CONFIG_EPOLL", "CONFIG_INOTIFY_USER", "CONFIG_PROC_FS", "CONFIG_SIGNALFD",
    "CONFIG_SYSFS", "CONFIG_TIMERFD", "CONFIG_UNIX",
)  # fmt: skip
"""Config symbols without which systemd does not come up."""

SYSTEMCTL = "systemctl"
"""A program that every root with systemd has, in a folder that is looked into."""

_ABOVE = "root/above"
_RUNNER = "usr/lib/kernsmith/run"
_UNITS = "etc/systemd/system"
_TARGET = """\
[Unit]
Description=All units that the root has enabled, then the workload
Wants=multi-user.target kernsmith.service
After=multi-user.target
"""
_SERVICE = f"""\
[Unit]
Description=The workload
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/{_RUNNER}
StandardInput=null
StandardOutput=file:/dev/console
StandardError=file:/dev/console
TimeoutStartSec=infinity
"""
# Nobody logs in, and nothing begins because time has passed.
_MASKED = ("getty.target", "timers.target")
# Without one it would be the first boot of this root, which asks who lives here.
_MACHINE_ID = "6b65726e736d69746800000000000001\n"


def systemd_program() -> Path:
    """Where the build puts what lays a root below a workload, and becomes its systemd."""
    return shipped("build", "guest", "kernsmith-systemd")


def systemd_layer() -> list[Member]:
    """The layer, in the initramfs."""
    runner = read_program(shipped("build", "guest", "kernsmith-service"))
    files = {
        f"{_UNITS}/kernsmith.target": _TARGET.encode(),
        f"{_UNITS}/kernsmith.service": _SERVICE.encode(),
        # An empty file masks a unit (systemd.unit(5)).
        **{f"{_UNITS}/{unit}": b"" for unit in _MASKED},
        "etc/machine-id": _MACHINE_ID.encode(),
        _RUNNER: runner,
    }
    folders = sorted({str(each) for name in files for each in Path(_ABOVE, name).parents} - {"."})
    members = [Member(folder) for folder in folders if folder != "root"]
    return [
        *members,
        *(
            Member(f"{_ABOVE}/{name}", content, executable=name == _RUNNER)
            for name, content in files.items()
        ),
    ]
