# SPDX-License-Identifier: GPL-2.0-or-later
"""A host for the machine ssh without ssh and without a kernel: its shell is this system's, in a
folder that stands for its disk, and what boots there is a line in a file.

Every command of a session is one that can be cut off before or behind what it does, or at which
the session is killed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from kernsmith import process
from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine import Job
from kernsmith.machine.remote.connection import Connection
from kernsmith.machine.remote.host import Host
from kernsmith.machine.remote.look import Look, runner_program
from kernsmith.machine.ssh import Ssh, Table

BUILD_ID = "0123456789abcdef0123456789abcdef01234567"
OWN = "root=/dev/vda1 ro"
# Whatever a script names of the system, it means the folder's.
_SYSTEM = re.compile(
    r"(?<![\w/.-])/(proc|sys|run|lib/modules|var/lib/systemd|etc/systemd)(?=[/ )]|$)"
)

_RUNNER = """\
#!/bin/sh
tell() {{ printf '%s %s\\n%s\\n' "$1" "${{#2}}" "$2"; }}
case $1 in
look)
    read -r boot < {boot}; read -r line < {root}/proc/cmdline
    tell /proc/sys/kernel/random/boot_id "$boot"
    tell /proc/cmdline "$line"
    tell /proc/sys/kernel/osrelease 7.3.4
    tell /etc/machine-id lab
    tell /sys/devices/system/cpu/online 0-1
    case $line in *kernsmith.batch*) tell build-id {build_id} ;; *) tell build-id 99 ;; esac ;;
start) echo "$2" >> {root}/started; exec {python} -IS {root}/bin/runner.py "$2" "$3" ;;
wait) [ ! -e {root}/waits ] || exec /bin/sleep 600 ;;
esac
"""
# Does what the file `do` says in the run that it names, and measures the others.
_MEASURES = """\
import os, sys, zlib
from pathlib import Path
root, batch, said = Path({root!r}), Path(sys.argv[1]), Path(sys.argv[2])
do = (root / "do").read_text().split()
if not "kernsmith.batch=" in (root / "proc/cmdline").read_text():
    sys.exit("the runner was started in the wrong kernel")
boot = Path({boot!r}).read_text().strip()
results = batch / "results"
before = results.read_text() if results.exists() else ""
def tell(text):
    with results.open("a") as file:
        file.write(f"{{zlib.crc32(text.encode()):08x}} {{text}}\\n")
for line in (batch / "plan").read_text().splitlines():
    word, kind, name, *rest = line.split(" ")
    if kind != "trial" or f" begin {{name}} " in before:
        continue
    what = do[0] if name == do[1] else "ok"
    if what == "fails":
        said.write_text(" ".join(do[2:]))
        break
    tell(f"begin {{name}} 0 {{boot}} 0 0")
    if what == "dies":
        os.system("systemctl reboot")
        break
    if what == "silent":
        (root / "silent").touch()
        break
    if what == "stubborn":
        (root / "stays").touch()
    if what in ("stuck", "stubborn"):
        tell(f"end {{name}} 0 110 9 9 stays in the kernel")
        break
    tell(f"metric {{name}} 0 reference_cycles=100")
    tell(f"end {{name}} 0 0 9 9 ")
    tell(f"done {{name}} 0")
"""
_PROGRAMS = {
    "id": "echo 0",
    "uname": "echo x86_64",
    "sleep": "",
    "depmod": "",
    "sync": "",
    "mount": "echo /sys/fs/pstore",
    "kexec": 'for w; do case $w in --command-line=*) echo "${w#*=}" > {root}/loaded ;; esac; done',
    "systemctl": """\
[ ! -e {root}/stays ] || exit 0
read -r boot < {boot}
[ "${of_boot:-$boot}" = "$boot" ] || exit 0  # what another boot has started died with it
case $1 in
kexec) line={root}/loaded; [ ! -e {root}/falls ] || line={root}/own
    [ ! -e {root}/never ] || touch {root}/silent ;;
reboot) line={root}/own ;;
esac
cp $line {root}/line.$$; mv {root}/line.$$ {root}/proc/cmdline
echo boot-$((${boot#boot-} + 1)) > {boot}.$$; mv {boot}.$$ {boot}""",
}


class Killed(BaseException):
    """As SIGKILL: nothing of the session's goes on behind it."""


@dataclass(frozen=True)
class _Local(Connection):
    """Commands that a shell here runs. at: called with the number and the script of each; what it
    returns is run in the script's place."""

    world: World | None = None

    def command(self, script: str) -> list[str]:
        assert self.world is not None
        return ["sh", "-c", self.world.next(script)]


@dataclass
class World:
    """The host. root: its disk. cut: what becomes of the command with this number, counted from 1:
    `before` or `behind` what it does the connection is lost; `killed`: so is the session."""

    root: Path
    cut: dict[int, str] = field(default_factory=dict)
    count: int = 0
    scripts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        root, boot = self.root, self.root / "proc/sys/kernel/random/boot_id"
        self.folder = root / "var/lib/kernsmith"
        for name in (
            "bin",
            boot.parent,
            "sys/devices/system/cpu",
            "run/systemd/system",
            "lib/modules",
        ):
            (root / name).mkdir(parents=True)
        self.folder.mkdir(parents=True)
        for name, text in _PROGRAMS.items():
            words = text.replace("{root}", str(root)).replace("{boot}", str(boot))
            self._program(root / "bin" / name, f"#!/bin/sh\n{words}\n")
        program = sha256(runner_program().read_bytes()).hexdigest()[:16]
        words = _RUNNER.format(root=root, boot=boot, build_id=BUILD_ID, python=sys.executable)
        self._program(self.folder / f"runner-{program}", words)
        (root / "bin/runner.py").write_text(_MEASURES.format(root=str(root), boot=str(boot)))
        for name, text in ((boot, "boot-1"), ("own", OWN), ("proc/cmdline", OWN), ("do", "ok -")):
            (root / name).write_text(f"{text}\n")

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def next(self, script: str) -> str:
        """What a shell is given for the next command."""
        self.count += 1
        self.scripts.append(script)
        what = self.cut.get(self.count, "")
        if what == "killed":
            raise Killed
        script = _SYSTEM.sub(rf"{self.root}/\1", script)
        script = f"[ ! -e {self.root}/silent ] || exit 255; {script}"
        boot = self.root / "proc/sys/kernel/random/boot_id"
        script = f"read -r of_boot < {boot}; export of_boot; PATH={self.root}/bin:$PATH; {script}"
        script = f"cd /; {script}"
        if not what:
            return script
        # What is tried again is not cut again.
        once = f"[ -e {self.root}/cut ] || {{ >{self.root}/cut; exit 255; }}"
        return f"{once}; {script}" if what == "before" else f"(:;{script}\n); n=$?; {once}; exit $n"

    def does(self, what: str) -> None:
        """What the runner does from now on."""
        (self.root / "do").write_text(what)

    def has(self, *names: str) -> None:
        """From now on: `silent` (no answer), `waits` (a measurement without an end), `stays` (it
        does not reboot), `falls` (back into its own kernel), `never` (silent behind kexec)."""
        for name in names:
            (self.root / name).touch()

    def is_at_home(self) -> bool:
        """In its own kernel."""
        return (self.root / "proc/cmdline").read_text().strip() == OWN

    def is_as_before(self) -> bool:
        """In its own kernel, with nothing of a session's but what is still to be told."""
        left = {path.name for path in self.folder.rglob("*") if path.is_file()}
        kept = {name for name in left if name.startswith("runner-")} | {
            "earlier",
            "results",
            "told",
        }
        return self.is_at_home() and left <= kept

    def power_cycle(self) -> str:
        """The command that switches it off and on."""
        root = self.root
        return f"rm -f {root}/silent {root}/stays {root}/never; {root}/bin/systemctl reboot"


@dataclass(frozen=True)
class ScriptedSsh(Ssh):
    """The machine ssh at such a host."""

    world: World | None = None

    def reach(self) -> Host:
        assert self.world is not None
        local = _Local(self.host, patience=self.settings.boot_seconds, world=self.world)
        asked = self.settings
        return Host(local, asked.folder, asked.boot_seconds, asked.power_cycle)


def machine_at(world: World, look: Callable[[bytes], Look], **settings: object) -> ScriptedSsh:
    """The machine, looked at; it answers in two seconds or not at all."""
    asked = Table.model_validate(
        {"folder": str(world.folder), "boot_seconds": 2.0, "runs": 1, "time_limit": 1.0, **settings}
    )
    (runner,) = world.folder.glob("runner-*")
    seen = look(process.run([runner, "look"], timeout=60).output.encode())
    return ScriptedSsh("lab", asked, seen, "0123", world=world)


def jobs(folder: Path, *names: str) -> list[Job]:
    """Runs of one workload, called so."""
    pipe = replace(next(w for w in load_catalogue() if w.name == "pipe"), rounds=1, warmup=0)
    return [Job(pipe, folder / name, name=name) for name in names]


def small_image(folder: Path) -> Path:
    """An ELF file with a build id, which is all that a session asks of a kernel."""
    source, target = folder / "start.s", folder / "vmlinux"
    source.write_text(".globl _start\n_start: ret\n")
    process.run(
        ["gcc", "-nostdlib", "-static", f"-Wl,--build-id=0x{BUILD_ID}", "-o", target, source],
        timeout=60,
    )
    return target
