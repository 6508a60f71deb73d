# SPDX-License-Identifier: GPL-2.0-or-later
"""A computer to boot kernels on, in QEMU: the disk of `target_disk`, reached by ssh as `target`.

Its clock is the host's, as a real machine's is. Run as a program, it measures.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith import process
from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine import Job, find_machine
from ssh_server import free_port
from target_disk import MEMORY, WORDS, virtio_kernel

SECONDS = 900.0
# Whoever is traced stays behind its death until the tracer has seen it (ptrace(2): PTRACE_SEIZE),
# as a process does that the kernel keeps: the newest of the runner that measures.
KEEP = """\
nohup perl -e 'syscall(101, 0x4206, 0 + $ARGV[0], 0, 0) == 0 or die; sleep 9999' \
    $(pgrep -nf 'runner.* (start|run) /') >/dev/null 2>&1 </dev/null &
"""


@dataclass
class Target:
    """The machine while it runs. made: of `make_target`. folder: of this run."""

    made: Path
    folder: Path

    @property
    def image(self) -> Path:
        """What is measured: a kernel that is not the machine's own."""
        return virtio_kernel().vmlinux

    @contextmanager
    def running(self, *, loader: bool = False) -> Iterator[None]:
        """While the block runs; what is written to the disk is nobody else's.

        loader: whether GRUB loads its own kernel from the disk, which takes the emulator a minute;
            else QEMU does, at each reset.
        """
        port = free_port()
        key = (self.made / "host.pub").read_text()
        (self.folder / "known").write_text(f"[127.0.0.1]:{port} {key}")
        (self.folder / "client").write_text(
            f"Host target\n HostName 127.0.0.1\n Port {port}\n User root\n"
            f" IdentityFile {self.made}/key\n IdentitiesOnly yes\n"
            f" UserKnownHostsFile {self.folder}/known\n"
            # Of a machine that panics, no connection is told that it is over.
            " ServerAliveInterval 10\n ServerAliveCountMax 6\n ConnectTimeout 60\n"
        )
        own = [] if loader else ["-kernel", str(self.made / "vmlinuz"), "-append", WORDS]
        command = [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi",
            "-m", str(MEMORY), "-smp", "2", "-cpu", "max", "-nodefaults", "-display", "none",
            "-drive", f"file={self.made}/disk,format=raw,if=virtio,snapshot=on", *own,
            "-netdev", f"user,id=n,hostfwd=tcp:127.0.0.1:{port}-:22",
            "-device", "virtio-net-pci,netdev=n", "-device", "i6300esb",
            "-serial", f"file:{self.folder}/console.log",
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
            "ssh_options": f"-F {self.folder}/client", "runs": 2,
            "boot_seconds": SECONDS, "power_cycle": me, **more,
        }  # fmt: skip

    def ssh(self, script: str) -> str:
        """What a script prints there, as its owner would run it."""
        command = ["ssh", "-F", self.folder / "client", "target", script]
        return process.run(command, timeout=SECONDS, merge=False, check=False).output

    def bring(self, folder: Path, place: str) -> None:
        """Copy a folder there, as a person would."""
        archive = process_bytes(["tar", "-c", "-C", str(folder), "."])
        script = f"mkdir -p {place}; tar -x -C {place}; sync"
        command = ["ssh", "-F", self.folder / "client", "target", script]
        process.run(command, timeout=SECONDS, input=archive)

    def fetch(self, place: str, folder: Path) -> None:
        """Copy a folder back, but for its kernels."""
        folder.mkdir(parents=True, exist_ok=True)
        client = str(self.folder / "client")
        script = f"tar -c -C {place} --exclude ./kernels ."
        archive = process_bytes(["ssh", "-F", client, "target", script])
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)

    def boots(self) -> int:
        """How often a kernel has started, as the console has it."""
        return (self.folder / "console.log").read_text(errors="replace").count("Linux version ")


def process_bytes(command: list[str]) -> bytes:
    """What a program writes to its standard output."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout


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
