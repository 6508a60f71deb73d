# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's console lines, among everything else that a kernel prints."""

from math import isfinite
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernsmith.machine.console import last_lines, read_console, with_console

GOOD = """[    0.1] Linux version 7.3.4\r
kernsmith: begin pipe\r
kernsmith: metric seconds=0.051200000\r
kernsmith: metric sys_seconds=0.048\r
kernsmith: end pipe status=0\r
[    0.9] reboot: Restarting system\r
"""


def test_a_good_run() -> None:
    said = read_console(GOOD)
    assert said.verdict("pipe") == ("ok", "")
    assert said.metrics == {"seconds": 0.0512, "sys_seconds": 0.048}


@pytest.mark.parametrize("times", [1, 2])
def test_the_kernel_speaks_in_the_middle_of_a_line(times: int) -> None:
    expected = read_console(GOOD)
    for place in range(len(GOOD)):
        if "kernsmith" in GOOD[:place].rpartition("\n")[2] and GOOD[place] != "\n":
            log = "[    0.700000] kernel said: status=7\r\n" * times
            assert read_console(GOOD[:place] + log + GOOD[place:]) == expected, place
    panic = "kernsmith: end pi[    0.700000] Kernel panic - not syncing: died\r\npe status=0\r\n"
    assert read_console(panic).verdict("pipe") == ("panic", "kernel panic: died")


def test_a_programs_own_log_hides_nothing() -> None:
    log = "Nov 26 18:00:00 host kernel: [    0.700000] said\r\n" * 20_000
    assert read_console(GOOD.replace("kernsmith: end", f"{log}kernsmith: end")) == read_console(
        GOOD
    )


def test_what_can_go_wrong() -> None:
    assert read_console("").verdict("pipe") == ("failed", "the guest did not start")
    begun = "kernsmith: begin pipe\n"
    assert read_console(begun).verdict("pipe")[1] == "the workload did not end"
    panic = f"{begun}[ 1.0] Kernel panic - not syncing: Attempted to kill init!\n"
    assert read_console(panic).verdict("pipe")[0] == "panic"
    oops = (
        "[ 1.1] Oops: general protection fault, probably for non-canonical address 0x6e: 0000 [#1]"
    )
    assert read_console(f"{oops}\n[ 1.2] Oops: 0002 [#2]\n").verdict("pipe") == (
        "failed",
        f"the guest did not start, behind {oops[7:]}",
    )
    failed = f"{begun}kernsmith: end pipe status=28 No space left on device\n"
    assert "errno 28 No space left" in read_console(failed).verdict("pipe")[1]
    starved = (
        "[ 2.1] Out of memory: Killed process 77 (my server) total-vm:9kB, anon-rss:1kB\n"
        "[ 2.2] Memory cgroup out of memory: Killed process 78 (other) total-vm:9kB\n"
    )
    died = f"{begun}{starved}kernsmith: end pipe status=5 sh was killed by signal 9\n"
    assert read_console(died).verdict("pipe")[1] == (
        "the workload failed with errno 5 sh was killed by signal 9: the guest had no memory left, "
        "and its kernel killed my server"
    )
    rootless = "kernsmith: end root status=22 mount of the image, squashfs: Invalid argument\n"
    assert read_console(rootless).verdict("pipe") == (
        "failed",
        "the guest has no root file system: mount of the image, squashfs: Invalid argument "
        "(errno 22)",
    )
    other = "kernsmith: end fork status=0\n"
    assert "'fork'" in read_console(other).verdict("pipe")[1]


@pytest.mark.parametrize("figure", ["x=1e", "x=--1", "x=nan", "x=1e999", "x=", "x=1.2.3", "=1"])
def test_a_figure_that_is_no_number_is_a_failed_run(figure: str) -> None:
    said = read_console(GOOD.replace("sys_seconds=0.048", figure))
    assert said.metrics == {"seconds": 0.0512}
    assert said.verdict("pipe") == ("failed", f"the guest's figure {figure!r} is no number")


@given(st.integers(0, len(GOOD)))
def test_a_console_that_is_cut_is_ok_only_when_nothing_is_missing(length: int) -> None:
    said = read_console(GOOD[:length])
    assert (said.verdict("pipe") == ("ok", "")) == (said.ended is not None)


FIGURES = st.text("0123456789+-.eEnaif_ x=\x00", max_size=40)
LINES = st.builds(
    "{}{}".format,
    st.sampled_from(
        [
            "kernsmith: metric x=",
            "kernsmith: metric ",
            "kernsmith: end pipe status=",
            "kernsmith: end modules status=",
            "kernsmith: section x .text ",
            "kernsmith: said ",
            "panic: ",
        ]
    ),
    FIGURES | st.text() | st.integers().map(str) | st.just("9" * 5000),
)


@given(st.text() | st.lists(LINES).map("\n".join))
def test_any_text_is_a_verdict(text: str) -> None:
    said = read_console(text)
    status, reason = said.verdict("pipe")
    assert status in {"ok", "failed", "panic"}
    assert reason.isprintable()
    assert all(isfinite(value) for value in said.metrics.values())


LOADED = f"""kernsmith: module camellia_generic\r
kernsmith: section camellia_generic .text ffffffffa0002040\r
kernsmith: section camellia_generic .rodata ffffffffa0100000\r
kernsmith: module bare\r
{GOOD}"""


def test_where_modules_are() -> None:
    said = read_console(LOADED)
    assert said.verdict("pipe") == ("ok", "")
    sections = {".text": 0xFFFFFFFFA0002040, ".rodata": 0xFFFFFFFFA0100000}
    assert said.modules == {"camellia_generic": sections, "bare": {}}
    assert read_console(GOOD).modules == {}


def test_a_module_that_is_refused_is_told_with_the_kernels_words() -> None:
    refused = (
        "kernsmith: module first\n"
        "kernsmith: said <4>[    1.9] second: Unknown symbol nothing (err -2)\n"
        "kernsmith: end modules status=2 load of second: No such file or directory\n"
    )
    status, reason = read_console(refused).verdict("pipe")
    assert status == "failed"
    assert reason == (
        "the kernel's modules were not loaded: load of second: No such file or directory "
        "(errno 2); the kernel said: [    1.9] second: Unknown symbol nothing (err -2)"
    )
    mounted = read_console("kernsmith: end init status=19 mount /sys: No such device\n")
    assert mounted.verdict("pipe")[1].startswith("the guest could not start: mount /sys")


@pytest.mark.parametrize("line", ["section a .text xyz", "section a .text", "module a b", "module"])
def test_a_line_of_modules_that_is_cut_says_nothing(line: str) -> None:
    assert read_console(f"kernsmith: {line}\n").modules == {}


def test_the_end_of_a_console_is_what_was_said_in_the_guest(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    assert with_console("why", console) == f"why; console: {console}"
    console.write_text("$ /usr/bin/qemu-system-x86_64 -m 512\n")
    assert with_console("why", console) == f"why; console: {console}; it said nothing"
    console.write_text("kernsmith: begin own\n")
    assert last_lines(console) == "the console's last lines: kernsmith: begin own"
    told = "\x1b[1mone\r\n\ntwo\nthree\nfour\nkernsmith: said [ 1.0] five\n"
    console.write_text(f"{told}kernsmith: end own status=5 x\n")
    assert last_lines(console) == (
        "the console's last lines: two / three / four / kernsmith: said [ 1.0] five"
    )
    assert with_console("why", console) == f"why; console: {console}; {last_lines(console)}"
    told = f"panic; {last_lines(console)}"
    assert with_console(told, console) == f"{told}; console: {console}"
