# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder that a machine elsewhere has for an image: a batch (`machine.batch`), and its kernel.

Results stay there until each has been told, whoever is killed meanwhile, and whatever other image
comes in between: the kernels of other images go, which are large, and their results do not.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.machine.batch import PLAN, RESULTS, Planned, Recorded, plan_text, read_results
from kernsmith.machine.remote.connection import RemoteFailed
from kernsmith.machine.remote.host import Host, Loaded
from kernsmith.machine.remote.modules import Modules

BATCHES = "batches"
BUSY = 3
"""What the runner ends with where the batch is being run already: the connection was lost."""
SAID = "/run/kernsmith-runner-said"
"""What the runner complained of; in memory, for the disk may be what it complains of."""
_EARLIER, _TOLD = "earlier", "told"
_KEPT_DAYS = 30
_UNLINK = """\
for l in /lib/modules/*; do
    if [ -L $l ]; then case $(readlink $l) in {batches}/*) rm $l;; esac; fi
done
"""
_ROOM = """\
set -e; mkdir -p {place}; cd {batches}
rm -rf */kernel */kernel.part */modules.tar */modules.tar.part */modules */initramfs */plan
cd {place}
if [ -e results ]; then
    cat results >> earlier; echo >> earlier; sync earlier; rm results
fi
df -Pk . | awk 'END {{ print $4 }}'
"""
_CLEAN = """\
set -e; [ -e {batches} ] || exit 0; cd {batches}
if [ {left} = 0 ]; then rm -rf {place}
else cd {place} && rm -rf kernel modules.tar modules initramfs plan
fi
find {batches} -mindepth 1 -maxdepth 1 -type d -mtime +{days} -exec rm -rf {{}} +
cd /; rmdir {batches} 2>/dev/null || true
"""


@dataclass(frozen=True)
class Place:
    """name: of the image, by its content."""

    host: Host
    name: str

    @property
    def path(self) -> str:
        """There."""
        return f"{self._batches}/{self.name}"

    @property
    def _batches(self) -> str:
        return f"{self.host.folder}/{BATCHES}"

    def _script(self, text: str, **words: object) -> str:
        batches, place = shlex.quote(self._batches), shlex.quote(self.path)
        return (_UNLINK + text).format(batches=batches, place=place, **words)

    def make_room(self, size: int) -> None:
        """A folder for so many bytes, in which nothing has begun. Raises UserError: the disk is
        full."""
        free = self.host.connection.run(self._script(_ROOM), "making a folder")
        self.host.check_space(int(free) << 10, size)

    def bring(self, image: Path, modules: Modules | None) -> Loaded:
        """Copy the kernel and what belongs to it; how it is loaded but for its words."""
        connection, place = self.host.connection, self.path
        connection.send(image.read_bytes(), f"{place}/kernel", "copying the kernel")
        if modules is None:
            return Loaded(self.name, f"{place}/kernel")
        archive = f"{place}/modules.tar"
        connection.send(modules.archive.read_bytes(), archive, "copying the modules")
        connection.run(
            f"cd {shlex.quote(place)}; mkdir modules; tar -xf modules.tar -C modules",
            "unpacking the modules",
        )
        return Loaded(
            self.name, f"{place}/kernel", modules=f"{place}/modules", release=modules.release
        )

    def start(self, plan: Sequence[Planned], told: Iterable[str]) -> None:
        """Have the runner measure in the background. told: whose results are needed no more."""
        connection = self.host.connection
        connection.send(plan_text(plan).encode(), f"{self.path}/{PLAN}", "copying the plan")
        names = "".join(f"{name}\\n" for name in told)
        file = shlex.quote(f"{self.path}/{_TOLD}")
        connection.run(
            f"printf '{names}' >> {file}; {self._runner('start')} {SAID} || test $? -eq {BUSY}",
            "starting the runner",
        )

    def wait(self, seconds: float) -> None:
        """Until the runner is done: nothing is sent meanwhile but ssh's own signs of life."""
        self.host.connection.run(
            self._runner("wait"), "the measurement", seconds=seconds, once=True
        )

    def _runner(self, what: str) -> str:
        return f"{shlex.quote(self.host.runner)} {what} {shlex.quote(self.path)}"

    def complaint(self) -> str:
        """The last that the runner complained of; empty where it did not.

        Raises:
            UserError: the disk was full.
        """
        try:
            said = self.host.connection.run(f"tail -n 1 {SAID}", "asking the runner").strip()
        except RemoteFailed:
            return ""
        if "No space left on device" in said:
            raise self.host.connection.full("writing results")
        return said

    def results(self) -> dict[str, Recorded]:
        """What came out since the kernel was brought."""
        return read_results(self._read(RESULTS))

    def untold(self) -> dict[str, Recorded]:
        """What sessions have measured that did not live to tell it."""
        told = set(self._read(_TOLD).split())
        found = {**read_results(self._read(_EARLIER)), **read_results(self._read(RESULTS))}
        return {name: each for name, each in found.items() if each.ok and name not in told}

    def _read(self, name: str) -> str:
        file = shlex.quote(f"{self.path}/{name}")
        return self.host.connection.run(f"[ ! -e {file} ] || cat {file}", "reading the results")

    def clean(self, *, left: bool) -> None:
        """Take away what was brought. left: results that are still to be told stay."""
        script = self._script(_CLEAN, left=int(left), days=_KEPT_DAYS)
        self.host.connection.run(script, "taking away what was brought")
