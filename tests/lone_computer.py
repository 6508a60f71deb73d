# SPDX-License-Identifier: GPL-2.0-or-later
"""A computer that goes through a folder alone (`kernsmith-batch`), without systemd and kernels.

The folder's shell programs run for real, on a folder that stands for the disk: /proc, /sys, /etc
and /boot are there. What boots is a command line; firmware and GRUB are a few lines of Python.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine import Job, find_machine
from kernsmith.machine.self import Itself

OWN = "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 ro"
UNITS = ("kernsmith-batch.service", "kernsmith-batch-late.service")
_SYSTEM = re.compile(
    r"(?<![\w/.-])/(proc|sys|run|lib/modules|var/lib/systemd|etc|boot)(?=[/\s)]|$)"
)
# The program with the number in `kill`, counted over all of them, kills who has called it.
_COUNTED = """\
#!/bin/sh
read -r count < {root}/count; count=$((count + 1)); echo $count > {root}/count
read -r kill < {root}/kill; [ "$count" != "$kill" ] || kill -9 0
echo "$count ${{0##*/}} $*" >> {root}/log
"""
_PROGRAMS = {
    "kexec": 'for w; do case $w in --command-line=*) echo "${w#*=}" > {root}/loaded ;; esac; done\n'
    "[ ! -e {root}/refuses ] || { echo not an ELF file; exit 1; }",
    "systemctl": "case $1 in kexec) mv {root}/loaded {root}/pending ;; reboot) >{root}/pending ;;\n"
    "is-system-running) cat {root}/running ;; esac",
    "sync": "",
    "depmod": "",
    "grub-reboot": "echo $1 > {root}/next_entry",
    "grub-editenv": "rm -f {root}/next_entry",
    "sleep": "",
}
_QUIET = {
    "id": "cat {root}/user",
    "uname": "case $1 in -m) cat {root}/architecture ;; *) echo 6.1.0 ;; esac",
    "stat": "case $3 in /) echo 1 ;; *) cat {root}/device ;; esac",
    "df": "echo 'x 1 1' $(cat {root}/free) 1% /",
    "sha256sum": "[ ! -e {root}/damaged ]",
    "mount": "echo {root}/sys/fs/pstore",
    "systemd-inhibit": "exit 1",
    "grub-probe": "cat {root}/${1#--target=}",
    "grub-mkrelpath": "echo $1",
}
# Measures as `do` says: ok, fails, panics, waits.
_RUNNER = """\
case $1 in
look) echo a look ;;
run)
    read -r do < {root}/do
    case $do in
    ok) echo measured > "$2/results" ;;
    fails) echo "kernsmith-runner: $do" >&2; exit 1 ;;
    panics) >{root}/pending; >{root}/panicked; kill -9 0 ;;
    esac ;;
esac"""


@dataclass
class Computer:
    """root: its disk. folder: the batch's. boots: how many are planned."""

    root: Path
    image: Path
    boots: int = 2
    enter: str = "kexec"
    go_on: bool = False

    def __post_init__(self) -> None:
        root = self.root
        for name in (
            "bin", "proc/sys/kernel/random", "run/systemd/system", "etc/systemd/system",
            "boot/grub", "lib/modules", "sys/kernel/security", "sys/fs/pstore",
        ):  # fmt: skip
            (root / name).mkdir(parents=True)
        files = {
            "count": "0", "kill": "0", "user": "0", "architecture": "x86_64", "device": "1",
            "free": "1000000", "do": "ok", "running": "running", "fs": "ext2", "abstraction": "",
            "fs_uuid": "0-1", "proc/cmdline": OWN, "proc/sys/kernel/random/boot_id": "boot-1",
            "boot/grub/grub.cfg": "next_entry custom.cfg", "log": "",
        }  # fmt: skip
        for name, text in files.items():
            self.put(name, text)
        self.folder = root / "batch"
        self._pack()
        for name, text in _PROGRAMS.items():
            self._program(root / "bin" / name, _COUNTED, text)
        for name, text in _QUIET.items():
            self._program(root / "bin" / name, "#!/bin/sh\n", text)
        self._program(self.folder / "kernsmith-runner", _COUNTED, _RUNNER)

    def _pack(self) -> None:
        """As `kernsmith batch` does, for a system that is elsewhere."""
        settings = {"host": "lab", "runs": 2, "time_limit": 30, "pause": 1, "go_on": self.go_on}
        machine = find_machine("self", "", settings)
        assert isinstance(machine, Itself)
        pipe = next(w for w in load_catalogue() if w.name == "pipe")
        work = replace(pipe, rounds=1, warmup=0)
        visits = [(self.image, [Job(work, Path(), name=f"trial-{n}")]) for n in range(self.boots)]
        machine.pack(visits, self.folder)
        if self.enter == "grub":
            words = self.folder / "settings"
            words.write_text(words.read_text().replace("ENTER=kexec", "ENTER=grub"))
        for name in ("kernsmith-batch", "tune", "last-words", "make-initramfs"):
            path = self.folder / name
            path.write_text(_SYSTEM.sub(rf"{self.root}/\1", path.read_text()))

    def _program(self, path: Path, head: str, text: str) -> None:
        root = str(self.root)
        path.write_text(head.format(root=root) + text.replace("{root}", root) + "\n")
        path.chmod(0o755)

    def put(self, name: str, text: str) -> None:
        (self.root / name).write_text(f"{text}\n")

    def call(self, word: str) -> tuple[int, str]:
        """`kernsmith-batch WORD`: its exit code, and what it says."""
        path = f"{self.root}/bin:/usr/bin:/bin"
        found = subprocess.run(
            [self.folder / "kernsmith-batch", word], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.STDOUT, env={"PATH": path}, timeout=60, start_new_session=True,
        )  # fmt: skip
        return found.returncode, found.stdout

    # ---- power, firmware and systemd

    @property
    def at_work(self) -> bool:
        """Whether systemd has the service."""
        return (self.root / "etc/systemd/system" / UNITS[0]).exists()

    def cmdline(self) -> str:
        return (self.root / "proc/cmdline").read_text().strip()

    def boot(self) -> None:
        """Whatever is to boot next; then the service, and what systemd runs behind it."""
        pending = self.root / "pending"
        line = pending.read_text().strip() if pending.exists() else ""
        pending.unlink(missing_ok=True)
        line = line or self._firmware()
        self.put("proc/cmdline", line)
        number = (self.root / "proc/sys/kernel/random/boot_id").read_text().strip()[5:]
        self.put("proc/sys/kernel/random/boot_id", f"boot-{int(number) + 1}")
        if self.at_work:
            self.call("step")
            if not (self.root / "panicked").exists():
                self.call("leave")
                assert pending.exists() or line == OWN, (
                    f"left in a measured kernel:\n{self.state()}"
                )
        (self.root / "panicked").unlink(missing_ok=True)

    def _firmware(self) -> str:
        """The words of what GRUB loads."""
        entry, custom = self.root / "next_entry", self.root / "boot/grub/custom.cfg"
        if not entry.exists():
            return OWN
        if not (self.root / "keeps").exists():
            entry.unlink()
        found = re.search(r"linux \S+ (.*)", custom.read_text() if custom.exists() else "")
        return found[1] if found else OWN

    def go(self, most: int = 20) -> int:
        """Boots until it has come to rest in its own kernel, and how many it took. Who finds it at
        rest in the middle of its work, as after a kill, switches it off and on."""
        for count in range(most):
            if not self.at_work and not (self.root / "pending").exists():
                return count
            self.boot()
        raise AssertionError(f"no rest after {most} boots:\n{self.state()}")

    def state(self) -> list[str]:
        """What happened, without when."""
        path = self.folder / "state"
        return [line.partition(" ")[2] for line in path.read_text().splitlines()]

    def log(self) -> str:
        return (self.root / "log").read_text()

    def left(self) -> list[str]:
        """What is not as it was before."""
        places = [
            *(self.root / "etc/systemd/system").iterdir(), self.root / "next_entry",
            self.root / "boot/grub/custom.cfg", *(self.root / "lib/modules").iterdir(),
        ]  # fmt: skip
        found = [str(path.relative_to(self.root)) for path in places if path.exists()]
        return found + ([] if self.cmdline() == OWN else [self.cmdline()])
