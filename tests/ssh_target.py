# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine to boot kernels on: a Debian 12 in QEMU, with sshd and kexec-tools on a disk.

Debian's own kernel is what it boots by default. Its initramfs and first program are made here and
small: under emulation, a distribution's own take minutes. Run as a program, it measures.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith import paths, process
from kernsmith.files import locked
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.apt import KEYRINGS, acquire_options, host_mirrors
from kernsmith.machine import Job, find_machine
from ssh_server import free_port, make_key

INITRAMFS = "/boot/small.initrd"
SECONDS = 3600.0
_PACKAGES = "openssh-server,kexec-tools,kmod,iproute2,linux-image-cloud-amd64"
_MODULES = (
    "virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
    "virtio_blk", "failover", "net_failover", "virtio_net", "libcrc32c", "crc16",
    "crc32c_generic", "mbcache", "jbd2", "ext4",
)  # fmt: skip
_WORDS = "console=ttyS0,115200 panic=10 no_timer_check mitigations=off net.ifnames=0"
_INIT = """\
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc; /bin/busybox mount -t devtmpfs dev /dev
for m in {modules}; do /bin/busybox insmod /lib/$m.ko; done
/bin/busybox mount -t ext4 /dev/vda /root
/bin/busybox mount --move /dev /root/dev
/bin/busybox umount /proc
exec /bin/busybox switch_root /root /sbin/small
"""
_SMALL = """\
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts
mount -t tmpfs run /run; mount -t tmpfs tmp /tmp; mount -o remount,rw /
mkdir -p /run/sshd
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
exec /usr/sbin/sshd -D -e
"""
_UNPACK = """\
set -e
mkdir root initrd initrd/bin initrd/lib initrd/proc initrd/dev initrd/root
tar --extract --file root.tar --directory root --exclude='./dev/*'
cp root/boot/vmlinuz-* vmlinuz
cp /bin/busybox initrd/bin/
for m in {modules}; do
    f=$(find root/usr/lib/modules -name $m.ko -o -name $(echo $m | tr _ -).ko | head -n1)
    [ -z "$f" ] || cp $f initrd/lib/$m.ko
done
cp init initrd/init; chmod 755 initrd/init
(cd initrd; find . | cpio -o -H newc --quiet --owner 0:0) > small.initrd
cp small.initrd root/boot/; cp small root/usr/sbin/; chmod 755 root/usr/sbin/small
mkdir -p root/root/.ssh; chmod 700 root/root/.ssh; cp key.pub root/root/.ssh/authorized_keys
echo 0123456789abcdef0123456789abcdef > root/etc/machine-id
cp root/etc/ssh/ssh_host_ed25519_key.pub host.pub
truncate -s 2G disk.ext4; mke2fs -q -F -t ext4 -m 0 -d root disk.ext4
rm -rf root initrd root.tar
"""


def make_target() -> Path:
    """The folder with its disk, kernel and keys; made once, which takes a while."""
    folder = paths.cache_root() / "tests" / "ssh-target-1"
    with locked(folder.with_suffix(".lock")):
        if not (folder / "vmlinux").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            _make(folder)
    return folder


def _make(folder: Path) -> None:
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
    modules = " ".join(_MODULES)
    (folder / "init").write_text(_INIT.format(modules=modules))
    (folder / "small").write_text(_SMALL)
    script = _UNPACK.format(modules=modules)
    process.run(["sh", "-c", script], cwd=folder, log=folder / "unpack.log", timeout=1800)
    unpack_kernel(folder / "vmlinuz", folder / "vmlinux")


def unpack_kernel(image: Path, vmlinux: Path) -> None:
    """The `vmlinux` in Debian's image (Documentation/arch/x86/boot.rst: `payload_offset`)."""
    data = image.read_bytes()
    begin = (data[0x1F1] + 1) * 512 + int.from_bytes(data[0x248:0x24C], "little")
    length = int.from_bytes(data[0x24C:0x250], "little")
    payload = data[begin : begin + length - 4]  # behind it stands the size
    process.run(["lz4", "-d", "-f", "-q", "-", vmlinux], input=payload, timeout=600)


@dataclass
class Target:
    """The machine while it runs. made: of `make_target`. folder: of this run."""

    made: Path
    folder: Path

    @property
    def image(self) -> Path:
        """Debian's own kernel: what is booted here as if it were a variant."""
        return self.made / "vmlinux"

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the block runs; what is written to the disk is nobody else's."""
        port = free_port()
        disk = self.made / "disk.ext4"
        key = (self.made / "host.pub").read_text()
        (self.folder / "known").write_text(f"[127.0.0.1]:{port} {key}")
        (self.folder / "client").write_text(
            f"Host target\n HostName 127.0.0.1\n Port {port}\n User root\n"
            f" IdentityFile {self.made}/key\n IdentitiesOnly yes\n"
            f" UserKnownHostsFile {self.folder}/known\n"
        )
        command = [
            "nice", "-n", "10",
            # An instruction takes 2 ns of the guest's clock: on a busy host nothing times out.
            "qemu-system-x86_64", "-accel", "tcg,thread=single", "-icount", "shift=1",
            "-m", "768", "-smp", "1", "-cpu", "max", "-nodefaults", "-display", "none",
            "-drive", f"file={disk},format=raw,if=virtio,snapshot=on",
            "-kernel", str(self.made / "vmlinuz"), "-initrd", str(self.made / "small.initrd"),
            "-append", _WORDS, "-netdev", f"user,id=n,hostfwd=tcp:127.0.0.1:{port}-:22",
            "-device", "virtio-net-pci,netdev=n", "-serial", f"file:{self.folder}/console.log",
            "-qmp", f"unix:{self.folder}/qmp,server=on,wait=off",
        ]  # fmt: skip
        with subprocess.Popen(command) as qemu:
            try:
                yield
            finally:
                qemu.kill()

    def settings(self, **more: object) -> dict[str, object]:
        """Of the machine ssh."""
        me = f"{sys.executable} {Path(__file__)} reset {self.folder}/qmp"
        return {
            "ssh_options": f"-F {self.folder}/client", "initramfs": INITRAMFS, "runs": 2,
            "boot_seconds": SECONDS, "power_cycle": me, **more,
        }  # fmt: skip

    def ssh(self, script: str) -> str:
        """What a script prints there, as its owner would run it."""
        command = ["ssh", "-F", self.folder / "client", "target", script]
        return process.run(command, timeout=SECONDS, merge=False, check=False).output

    def boots(self) -> int:
        """How often a kernel has started, as the console has it."""
        return (self.folder / "console.log").read_text(errors="replace").count("Linux version ")


def tell(socket_path: str, *commands: str) -> None:
    """Commands for QEMU (docs/interop/qmp-spec.rst of its source)."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(socket_path)
        talk = line.makefile("rw")
        talk.readline()
        for command in ("qmp_capabilities", *commands):
            talk.write(json.dumps({"execute": command}) + "\n")
            talk.flush()
            while "return" not in json.loads(talk.readline()):
                pass


def jobs(folder: Path, *asked: tuple[str, int]) -> list[Job]:
    """Runs of workloads with so many rounds."""
    known = {each.name: each for each in load_catalogue()}
    return [
        Job(replace(known[name], rounds=rounds, warmup=1), folder / name, name=f"trial-{name}")
        for name, rounds in asked
    ]


def measure(image: Path, folder: Path, settings: dict[str, object], asked: list[Job]) -> None:
    """A session, as a process that can be killed; prints a line for each run."""
    machine = find_machine("ssh:target", "", settings)
    with machine.open(image, folder) as session:
        for job in asked:
            outcome = session.run(job)
            print(outcome.status, sorted(outcome.metrics), flush=True)


def wait_until(what: str, happened: object, seconds: float = SECONDS) -> None:
    """Until a callable says so."""
    end = time.monotonic() + seconds
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(1)


if __name__ == "__main__":
    word, *rest = sys.argv[1:]
    if word == "reset":
        tell(rest[0], "cont", "system_reset")
    else:
        image, folder, settings, *names = rest
        asked = [(name, 20) for name in names]
        measure(Path(image), Path(folder), json.loads(settings), jobs(Path(folder), *asked))
