# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk with a fresh Debian, its own boot loader, and a package's kernel installed in it.

mmdebstrap installs Debian, the package's own scripts have the distribution's tool make the
initramfs, and the GRUB that lies in the root makes its image. No device is needed, no loop device
either: the file system is made of a folder, and the disk is written as a file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.errors import KernsmithError, ProcessFailed, ProgramMissing, UserError
from kernsmith.kernel.apt import KEYRINGS, acquire_options, host_mirrors
from kernsmith.proof.firmware import Firmware
from kernsmith.proof.initramfs_tool import InitramfsTool
from kernsmith.root.debian import SUITE, told_failure

Progress = Callable[[str, float | None], None]

PASSWORD = "kernsmith"
"""Of root, on the disk."""
LABEL = "kernsmith"

_PACKAGES = (
    "e2fsprogs", "grub-common", "grub2-common", "kmod", "login", "passwd",
    "systemd-sysv", "udev",
)  # fmt: skip
_GRUB_CONFIG = """\
serial --unit=0 --speed=115200
terminal_input serial
terminal_output serial
set timeout=0
menuentry 'Linux {release}' {{
	linux /boot/vmlinuz-{release} root=LABEL={label} ro {words}
	initrd /boot/initrd.img-{release}
}}
"""
# Runs outside of the root, which it is given, as the root's own user 0.
_INSTALL = """\
set -e
cd "$1"
echo {host} > etc/hostname
printf '127.0.0.1 localhost {host}\\n' > etc/hosts
printf 'LABEL={label} / ext4 defaults 0 0\\n' > etc/fstab
echo 'root:{password}' | chroot . chpasswd
{prepare}cp {package} tmp/kernel.deb
chroot . dpkg --install /tmp/kernel.deb
rm tmp/kernel.deb
cp {programs} usr/local/bin/
mkdir -p boot/grub
cp {config} boot/grub/grub.cfg
{grub}ls boot/{initrd} > /dev/null
"""
# The archive becomes a folder again and that a file system: for both one must be its user 0.
_PACK = """\
set -e
mkdir root
tar --extract --file root.tar --directory root --exclude='./dev/*'
{taken}mke2fs -q -F -t ext4 -L {label} -m 0 -d root root.ext4
rm -rf root root.tar
"""
_FREE = 512 << 20
_SECONDS = 3600.0


def _words() -> str:
    """What the kernel is told, beside its root."""
    boot = find_arch().boot
    return f"console={boot.console},115200 panic=-1 {boot.reset}"


def make_disk(
    package: Path,
    release: str,
    programs: list[Path],
    folder: Path,
    firmware: Firmware,
    tool: InitramfsTool,
    progress: Progress,
) -> Path:
    """A disk in a folder, with the kernel of a Debian package.

    release: of the kernel. programs: what comes to /usr/local/bin, too. firmware: what is to start
        it. tool: makes the initramfs. progress: called with what is being done.

    Raises:
        UserError: no Debian mirror; a program that is needed is not installed.
        KernsmithError: the package cannot be installed.
    """
    for program in ("mmdebstrap", "mke2fs"):
        process.find(program)
    # What the root's user 0 reads, who may be another one here.
    copied = [folder / path.name for path in (package, *programs)]
    for path, copy in zip((package, *programs), copied, strict=True):
        shutil.copy(path, copy)
        copy.chmod(0o755)
    package, *programs = copied
    config = folder / "grub.cfg"
    config.write_text(_GRUB_CONFIG.format(release=release, label=LABEL, words=_words()))
    hook = folder / "install"
    hook.write_text(
        _INSTALL.format(
            host="kernsmith",
            label=LABEL,
            password=PASSWORD,
            package=shlex.quote(str(package)),
            programs=shlex.join(map(str, programs)),
            config=shlex.quote(str(config)),
            prepare=tool.prepare,
            grub=firmware.install,
            initrd=shlex.quote(f"initrd.img-{release}"),
        )
    )
    _install(hook, folder, (*firmware.packages, *tool.packages), progress)
    progress("making the disk", None)
    image = folder / "root.ext4"
    size = (folder / "root.tar").stat().st_size
    image.touch()
    image.chmod(0o666)  # he writes it, too
    os.truncate(image, size * 5 // 4 + _FREE)
    helper = [] if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper"]
    process.run(
        [*helper, "sh", "-c", _PACK.format(label=LABEL, taken=firmware.pack)],
        cwd=folder,
        log=folder / "pack.log",
        timeout=_SECONDS,
    )
    disk = folder / "disk.img"
    firmware.write(disk, folder, image)
    image.unlink()
    return disk


def _install(hook: Path, folder: Path, packages: tuple[str, ...], progress: Progress) -> None:
    mirror, _ = host_mirrors()
    if mirror is None:
        raise UserError(
            "no Debian mirror in this system's apt sources (/etc/apt/sources.list, "
            "/etc/apt/sources.list.d): a Debian to install the package in cannot be fetched"
        )
    keyring = next((file for file in KEYRINGS if file.exists()), None)
    command: list[str | Path] = [
        "mmdebstrap", "--variant=essential", "--components=main", "--format=tar",
        f"--architectures={find_arch().target.debian}", 
        f"--include={','.join((*_PACKAGES, *packages))}",
        *([f"--keyring={keyring}"] if keyring else []),
        *(f"--aptopt={option}" for option in acquire_options()),
        "--dpkgopt=force-unsafe-io",  # nobody needs it after a power failure
        f'--customize-hook=sh {shlex.quote(str(hook))} "$1"',
        SUITE, folder / "root.tar", mirror,
    ]  # fmt: skip

    def tell(line: str) -> None:
        if "running --customize-hook" in line:
            progress("installing the package", None)
        elif match := re.match(r"I: ((?:running apt|downloading|extracting|installing).*)", line):
            progress(f"a fresh Debian: {match[1]}", None)

    log = folder / "install.log"
    try:
        process.run(command, log=log, timeout=_SECONDS, on_line=tell, capture=False)
    except ProgramMissing:
        raise
    except ProcessFailed as failure:
        known = told_failure(failure, log)
        if known is not failure:
            raise known from None
        raise KernsmithError(f"the package cannot be installed: {failure}") from failure
