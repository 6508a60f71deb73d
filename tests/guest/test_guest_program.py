# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest program as a program of this machine: every workload does what it says."""

import errno
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.guest import build_initramfs, guest_program, load_catalogue
from kernsmith.guest.workloads import suite_programs
from kernsmith.paths import shipped
from kernsmith.process import Completed

# One file, one workload: unix_socket.c is unix-socket. Only nat.c has a family of them, and folders
# with names of their own, of which a macro registers each again: with one more word, as well.
WORKLOADS = shipped("guest") / "workloads"
FILES = [*sorted(WORKLOADS.glob("*.c")), *sorted(WORKLOADS.glob("*/*.c"))]
AGAIN = {"neper": ("-veth", "-nat"), "unixbench": ("-high",)}


def names_in(path: Path) -> list[str]:
    """The workloads of a file: its own name, or a family whose names begin with it."""
    text = path.read_text()
    family = re.findall(r"^NAT_WORKLOAD\((\w+), \w+, (\d+)", text, re.MULTILINE)
    if family:
        return [f"{path.stem}-{protocol}-{size}" for protocol, size in family]
    once = re.findall(r'^\t\.name = "([a-z0-9-]+)"', text, re.MULTILINE)
    each = re.findall(r'^TESTS?\(\w+, "([a-z0-9-]+)"', text, re.MULTILINE)
    if path.parent == WORKLOADS:
        assert once == [path.stem.replace("_", "-")]
    more = (f"{name}{word}" for name in each for word in AGAIN[path.parent.name])
    return [*once, *each, *more]


SUITES = {name: path.parent.name for path in FILES for name in names_in(path)}
NAMES = sorted(SUITES)
ETHERNET_HEADER = 14
# What a container or another kernel may lack, by the workloads that need it. Only root may make
# network namespaces.
NAT_MAY_LACK = {errno.EPERM, errno.ENOENT, errno.EOPNOTSUPP, errno.EPROTONOSUPPORT}
MAY_BE_ABSENT = {
    **{name: NAT_MAY_LACK for name in NAMES if name.startswith("nat-")},
    "afalg-cipher": {errno.EAFNOSUPPORT, errno.ENOENT},
    "afalg-hash": {errno.EAFNOSUPPORT, errno.ENOENT},
    "binder": {errno.ENODEV, errno.EPERM},
    **{name: {errno.EINVAL} for name in ("cpu-futex", "cpu-pipe")},  # a second processor
    **{name: NAT_MAY_LACK for name in NAMES if name.endswith(("-veth", "-nat"))},
}
# Of these a round is many programs.
FEW_ROUNDS = re.compile(r"unixbench-(shell\d|.*-high)")


def program_of(program: Path, name: str) -> Path:
    """Files in a folder of workloads are a program of their own."""
    suite = SUITES[name]
    return program if suite == WORKLOADS.name else program.with_name(f"{program.name}-{suite}")


def guest(program: Path, *options: str) -> Completed:
    return process.run([program, *options], log=None, timeout=60, check=False)


def metrics(lines: Sequence[str]) -> dict[str, float]:
    found = (re.fullmatch(r"kernsmith: metric (\w+)=(\d+\.\d{9})", line) for line in lines)
    return {match[1]: float(match[2]) for match in found if match}


def test_every_file_is_a_workload(program: Path) -> None:
    assert sorted(load_catalogue().names) == NAMES


def test_a_folder_of_workloads_is_a_program_and_no_other_has_them(program: Path) -> None:
    for name in NAMES:
        for each in (program, *suite_programs()):
            listed = json.loads(guest(each, "--list").output)["workloads"]
            expected = each == program_of(program, name)
            assert (name in [entry["name"] for entry in listed]) == expected


def test_a_workload_of_a_folder_boots_with_its_own_program() -> None:
    pipe, binder = load_catalogue().select(["pipe", "binder"])
    assert (pipe.initramfs, pipe.content) == (None, "")
    assert binder.initramfs
    assert binder.initramfs.read_bytes() == build_initramfs(program_of(guest_program(), "binder"))


def ended(done: Completed, name: str) -> int:
    """The status that a workload ended with; skips when it needs what this machine lacks."""
    end = re.fullmatch(
        rf"kernsmith: end {name} status=(\d+)(?: (.+))?", done.output.splitlines()[-1]
    )
    assert end, done.output
    status = int(end[1])
    if status in MAY_BE_ABSENT.get(name, set()):
        pytest.skip(f"this machine's kernel does not have what {name} needs: {end[2]}")
    return status


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_runs_and_reports(program: Path, name: str) -> None:
    chosen = program_of(program, name)
    rounds = "2" if FEW_ROUNDS.match(name) else "40"
    done = guest(chosen, "--run", name, "--rounds", rounds, "--warmup", "1")
    first, *between, last = done.output.splitlines()
    assert first == f"kernsmith: begin {name}"
    assert (ended(done, name), done.returncode) == (0, 0), last
    assert set(metrics(between)) == {"seconds", "user_seconds", "sys_seconds"}
    assert metrics(between)["seconds"] > 0


# Prints the size of each frame with a payload that comes to the device `lan`. What carries none, an
# acknowledgement by itself, is sent whenever this machine lets an answer wait for 40 ms.
FRAMES_WITH_PAYLOAD = """
import socket, sys
ETH_P_ALL, TCP, ETHERNET_HEADER = 3, 6, 14
device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
device.bind(("lan", ETH_P_ALL))
left = int(sys.argv[1])
while left:
    frame, (_, _, kind, *_) = device.recvfrom(65536)
    packet = frame[ETHERNET_HEADER:]
    if kind != socket.PACKET_HOST or not packet or packet[0] >> 4 != 4:
        continue
    to_payload = 4 * (packet[0] & 15)
    to_payload += 4 * (packet[to_payload + 12] >> 4) if packet[9] == TCP else 8
    if int.from_bytes(packet[2:4], "big") > to_payload:
        print(len(frame))
        left -= 1
"""


def router_of(pid: int) -> Path | None:
    """The network namespace with the router's device `lan`, once a round went through it."""
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            is_network = str(fd.readlink()).startswith("net:")
        except FileNotFoundError:  # closed in the meantime
            continue
        if not is_network:
            continue
        command = ["nsenter", f"--net={fd}", "cat", "/proc/net/dev"]
        devices = process.run(command, log=None, timeout=10, check=False).output
        if re.search(r"^ *lan: +\d{5,} ", devices, re.MULTILINE):  # bytes
            return fd
    return None


@pytest.mark.xdist_group("packets")
@pytest.mark.parametrize("protocol", ["udp", "tcp"])
@pytest.mark.parametrize("size", [64, 1500])
def test_packets_through_the_router_have_the_size_of_the_name(
    program: Path, protocol: str, size: int
) -> None:
    name = f"nat-{protocol}-{size}"
    assert ended(guest(program, "--run", name, "--rounds", "1"), name) == 0
    router = None
    deadline = time.monotonic() + 30
    command = ["nice", "-n", "19", program, "--run", name, "--rounds", "100000000"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not router and time.monotonic() < deadline:
            time.sleep(0.1)
            router = router_of(running.pid)
        assert router
        listen = ["nsenter", f"--net={router}", sys.executable, "-c", FRAMES_WITH_PAYLOAD, "500"]
        frames = process.run(listen, log=None, timeout=60).output.split()
    finally:
        running.kill()
        running.wait()
    assert {int(frame) for frame in frames} == {size + ETHERNET_HEADER}


def test_more_rounds_are_more_work(program: Path) -> None:
    few, many = (
        metrics(guest(program, "--run", "mmap", "--rounds", rounds).output.splitlines())
        for rounds in ("5", "500")
    )
    used = [each["user_seconds"] + each["sys_seconds"] for each in (few, many)]
    assert used[1] > 5 * used[0]


def test_an_unknown_workload_ends_with_a_status(program: Path) -> None:
    done = guest(program, "--run", "none")
    assert done.returncode == 1
    assert done.output.splitlines()[-1] == (
        f"kernsmith: end none status={errno.EINVAL} unknown workload"
    )


def test_a_failure_names_its_cause(program: Path) -> None:
    done = process.run(
        ["prlimit", "--nofile=8:8", program, "--run", "select"], log=None, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.output.splitlines()[-1] == (
        f"kernsmith: end select status={errno.EMFILE} "
        "pipe, socketpair or eventfd: Too many open files"
    )


@pytest.mark.parametrize(
    "options", [[], ["--run"], ["--run", "pipe", "--rounds"], ["--run", "pipe", "--rounds", "0"]]
)
def test_wrong_options_show_the_usage(program: Path, options: list[str]) -> None:
    done = guest(program, *options)
    assert done.returncode == 2
    assert done.output.startswith("usage: kernsmith-guest --list")


def test_the_program_has_the_marks_of_a_region(program: Path) -> None:
    code = program.read_bytes()
    for operation in (1, 2, 3):  # ARM, BEGIN, END
        assert b"\x0f\x1f\x84\x00" + bytes([operation]) + b"MSK" in code
