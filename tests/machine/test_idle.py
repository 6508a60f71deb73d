# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest's clock does not depend on when the host looked at an idle vCPU."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernsmith.machine.tcg import open_machine
from kernsmith.process import run

GUEST = Path(__file__).with_name("idle_guest.S")
# They keep each other waiting on the host, as trials do that are measured at the same time.
AT_ONCE, RUNS = 3, 6


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("idle") / "guest"
    linked = ("-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none,-e,start,-Ttext=0x100000")
    run(["gcc", "-m32", *linked, "-o", str(file), str(GUEST)], timeout=60)
    return file


def test_it_tells_the_same_times_in_each_run(image: Path, tmp_path: Path) -> None:
    machine = open_machine("skylake")

    def clock(number: int) -> str:
        out = tmp_path / f"{number}.json"
        words = [
            str(machine.qemu.path), "-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off",
            "-rtc", "base=2026-01-01,clock=vm", "-nodefaults", "-display", "none", "-m", "16",
            "-serial", "stdio", "-no-reboot", "-kernel", str(image),
            "-plugin", f"{machine.tracer.path},cpu={machine.cpu},out={out}",
        ]  # fmt: skip
        return run(words, timeout=120).output

    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = list(pool.map(clock, range(RUNS)))
    assert len(told[0]) == 8
    assert told == [told[0]] * RUNS
