# SPDX-License-Identifier: GPL-2.0-or-later
"""What a runner tells of its machine, and what follows from it for booting kernels there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernsmith import process
from kernsmith.errors import KernsmithError, UserError
from kernsmith.machine.conditions import conditions
from kernsmith.machine.remote.connection import Connection
from kernsmith.machine.remote.host import Host, Loaded, command_line, measured_batch
from kernsmith.machine.remote.look import Look, read_cpu_list, read_look, runner_program
from kernsmith.machine.running import running_kernel


@pytest.fixture(scope="module")
def here() -> Look:
    told = process.run([runner_program(), "look"], timeout=60).output
    return read_look(told.encode())


def test_a_runner_sees_what_is_seen_here(here: Look) -> None:
    kernel = running_kernel()
    assert (here.boot, here.build_id, here.release) == (
        kernel.boot, kernel.build_id, kernel.release,
    )  # fmt: skip
    assert here.command == kernel.command
    seen = {each.name: each.value for each in conditions() if each.name != "load"}
    assert seen == {each.name: each.value for each in here.conditions if each.name != "load"}
    assert here.value("processor")


def told(**files: str) -> bytes:
    names = {
        "boot": "/proc/sys/kernel/random/boot_id", "lockdown": "/sys/kernel/security/lockdown",
        "disabled": "/proc/sys/kernel/kexec_load_disabled",
        "online": "/sys/devices/system/cpu/online", "pmu": "/sys/bus/event_source/devices/cpu/type",
    }  # fmt: skip
    parts = [f"{names[name]} {len(text)}\n{text}\n" for name, text in files.items()]
    return "".join(parts).encode()


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"lockdown": "[none] integrity confidentiality"}, ""),
        ({"lockdown": "none [integrity] confidentiality"}, "is locked down (integrity)"),
        ({"lockdown": "none integrity [confidentiality]"}, "is locked down (confidentiality)"),
        ({"disabled": "1\n"}, "kexec_load_disabled is 1"),
        ({"disabled": "0\n"}, ""),
    ],
)
def test_what_forbids_kexec_is_found(files: dict[str, str], why: str) -> None:
    assert why in read_look(told(boot="b\n", **files)).forbidden
    assert bool(why) == bool(read_look(told(boot="b\n", **files)).forbidden)


def test_a_processor_with_counters_is_told_by_its_events() -> None:
    assert read_look(told(boot="b", pmu="4\n")).counts
    assert not read_look(told(boot="b")).counts


def test_what_tells_of_no_boot_is_no_look() -> None:
    with pytest.raises(KernsmithError, match="does not tell which boot it is in"):
        read_look(b"")


def test_processors_are_numbers() -> None:
    assert read_cpu_list("0-3,8") == (0, 1, 2, 3, 8)
    assert read_cpu_list("") == ()
    assert read_look(told(boot="b", online="0-1\n")).processors == (0, 1)


def test_a_measured_kernel_is_told_what_the_own_one_is_and_some_more(here: Look) -> None:
    command = ("BOOT_IMAGE=/vmlinuz", "root=/dev/sda1", "ro", "initrd=/x", "quiet")
    own = replace(here, command=command)
    asked = Loaded("0123", "/b/kernel", words=("mitigations=off",))
    line = command_line(asked, own)
    assert line == (
        "root=/dev/sda1 ro quiet panic=10 oops=panic softlockup_panic=1 hung_task_panic=1 "
        "rd.shell=0 rd.emergency=reboot nokaslr mitigations=off kernsmith.batch=0123"
    )
    assert measured_batch(own) == ""
    measured = replace(own, command=tuple(line.split()))
    assert measured_batch(measured) == "0123"
    assert command_line(replace(asked, batch="4567"), measured).count("kernsmith.batch=") == 1


def test_modules_of_the_own_kernel_are_never_replaced(here: Look) -> None:
    host = Host(Connection("target"), "/var/lib/kernsmith", 1.0)
    asked = Loaded("0123", "/b/kernel", modules="/b/modules", release=here.release)
    with pytest.raises(UserError, match="give it another CONFIG_LOCALVERSION"):
        host.load(asked, here)


def test_a_disk_without_room_is_told_before_anything_is_copied() -> None:
    host = Host(Connection("target"), "/var/lib/kernsmith", 1.0)
    with pytest.raises(UserError) as caught:
        host.check_space(10 << 20, 30 << 20)
    assert str(caught.value) == (
        "the disk of target is full: /var/lib/kernsmith needs 38 MiB, and 10 MiB are free"
    )
    host.check_space(40 << 20, 30 << 20)


def test_a_power_cycle_that_fails_is_told() -> None:
    host = Host(Connection("target"), "/x", 1.0, power_cycle="echo no such outlet >&2; exit 1")
    with pytest.raises(KernsmithError, match=r"power_cycle: no such outlet: target stays away"):
        host.switch_off_and_on()
