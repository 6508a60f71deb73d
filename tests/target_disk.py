# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of a computer to boot kernels on: a Debian 12 with systemd, OpenSSH, kexec-tools, GRUB.

Its firmware starts GRUB, GRUB the computer's own kernel, which is one of the config `virtio`: all
drivers are in it, so it is up in half a minute under emulation. Debian's own takes many minutes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kernels import kept_kernel
from kernsmith import paths, process
from kernsmith.files import locked
from kernsmith.kernel.apt import KEYRINGS, acquire_options, host_mirrors
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.proof.master_boot_record import write_disk
from kernsmith.study import Study, plan_variants
from ssh_server import make_key

_VERSION = 2
_SOURCE = "debian:7.3"
_PACKAGES = (
    "systemd-sysv,openssh-server,kexec-tools,kmod,iproute2,grub-common,grub2-common,grub-pc-bin,"
    "procps"
)
_MODULES = (
    "biosdisk part_msdos ext2 normal linux configfile serial terminal loadenv test echo minicmd "
    "search search_fs_uuid"
)
# Last words of a kernel stay in this memory over a reset (Documentation/admin-guide/ramoops.rst);
# above it the kernel has none. The emulated processor's counter runs like a real one's, and says
# that it is none.
WORDS = (
    "root=/dev/vda1 ro console=ttyS0,115200 panic=5 no_timer_check tsc=reliable net.ifnames=0 "
    "mem=959M ramoops.mem_address=0x3bf00000 ramoops.mem_size=0x100000 ramoops.ecc=1"
)
MEMORY = 1024
_GRUB = f"""\
serial --unit=0 --speed=115200
terminal_input serial
terminal_output serial
load_env
set default="debian"
if [ "${{next_entry}}" ]; then
  set default="${{next_entry}}"
  set next_entry=
  save_env next_entry
fi
set timeout=0
menuentry 'Debian' --id debian {{
	linux /boot/vmlinuz {WORDS}
}}
if [ -f /boot/grub/custom.cfg ]; then source /boot/grub/custom.cfg; fi
"""
_NETWORK = """\
[Unit]
DefaultDependencies=no
Before=ssh.service
After=systemd-remount-fs.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0'
[Install]
WantedBy=multi-user.target
"""
# What nobody misses here and an emulator takes seconds for.
_MASKED = (
    "apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer "
    "e2scrub_reap.service getty@tty1.service getty-static.service systemd-logind.service "
    "systemd-hwdb-update.service systemd-timesyncd.service systemd-random-seed.service "
    "systemd-journal-flush.service systemd-sysusers.service systemd-pstore.service "
    "kexec-load.service systemd-tmpfiles-clean.timer serial-getty@ttyS0.service "
    "systemd-journal-catalog-update.service systemd-update-done.service "
    "systemd-tmpfiles-setup-dev.service"
)
_UNPACK = f"""\
set -e
mkdir root
tar --extract --file root.tar --directory root --exclude='./dev/*'
cd root
rm -rf usr/share/doc usr/share/man usr/share/locale usr/share/i18n var/cache/apt var/lib/apt/lists
cp ../vmlinuz boot/vmlinuz
mkdir -p boot/grub root/.ssh
cp ../grub.cfg boot/grub/grub.cfg
cp -r usr/lib/grub/i386-pc/boot.img ../

chroot . grub-editenv /boot/grub/grubenv create
chroot . grub-mkimage --format=i386-pc --output=/boot/grub/core.img \\
    --prefix='(hd0,msdos1)/boot/grub' {_MODULES}
cp boot/grub/core.img ../
chmod 700 root/.ssh
cp ../key.pub root/.ssh/authorized_keys
echo 0123456789abcdef0123456789abcdef > etc/machine-id
echo target > etc/hostname
echo '/dev/vda1 / ext4 rw,noatime 0 0' > etc/fstab
cp ../network.service etc/systemd/system/
ln -sf /lib/systemd/system/multi-user.target etc/systemd/system/default.target
mkdir -p etc/systemd/system/multi-user.target.wants
ln -sf ../network.service etc/systemd/system/multi-user.target.wants/network.service
for unit in {_MASKED}; do ln -sf /dev/null etc/systemd/system/$unit; done
mkdir -p etc/systemd/journald.conf.d
printf '[Journal]\\nStorage=volatile\\n' > etc/systemd/journald.conf.d/lean.conf
cp etc/ssh/ssh_host_ed25519_key.pub ../host.pub
cd ..
truncate -s 1500M root.ext4
mke2fs -q -F -t ext4 -O ^metadata_csum_seed,^orphan_file -m 0 -d root root.ext4
rm -rf root root.tar
"""


def virtio_kernel(suffix: str = "") -> Kernel:
    """A kernel of the config virtio, if it is there or may be built. suffix: of its release."""
    words = (("LOCALVERSION", f'"{suffix}"'),) if suffix else ()
    study = Study(
        source=_SOURCE,
        config="virtio",
        factors=(("profile", ("none",)),),
        options=(("AUTOFDO_CLANG", "y"), *words),
    )
    source = resolve_source(_SOURCE, paths.sources())
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))


def make_target() -> Path:
    """The folder with its disk and keys; made once, which takes minutes."""
    own = virtio_kernel("-own")
    folder = paths.cache_root() / "tests" / f"target-{_VERSION}-{own.key[:8]}"
    with locked(folder.with_suffix(".lock")):
        if not (folder / "disk").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            _make(folder, own)
    return folder


def _make(folder: Path, own: Kernel) -> None:
    make_key(folder / "key")
    mirror, _ = host_mirrors()
    assert mirror is not None
    keyring = next((file for file in KEYRINGS if file.exists()), None)
    process.run(
        ["mmdebstrap", "--variant=essential", "--components=main", "--format=tar",
         f"--include={_PACKAGES}", *([f"--keyring={keyring}"] if keyring else []),
         *(f"--aptopt={option}" for option in acquire_options()),
         "--dpkgopt=force-unsafe-io", "bookworm", folder / "root.tar", mirror],
        log=folder / "install.log", timeout=3600,
    )  # fmt: skip
    shutil.copy(own.bzimage, folder / "vmlinuz")
    (folder / "grub.cfg").write_text(_GRUB)
    (folder / "network.service").write_text(_NETWORK)
    process.run(["sh", "-c", _UNPACK], cwd=folder, log=folder / "unpack.log", timeout=1800)
    boot, core = ((folder / name).read_bytes() for name in ("boot.img", "core.img"))
    write_disk(folder / "part", boot, core, folder / "root.ext4")
    (folder / "root.ext4").unlink()
    (folder / "part").rename(folder / "disk")
