# SPDX-License-Identifier: GPL-2.0-or-later
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernsmith.errors import KernsmithError, UserError
from kernsmith.guest import Catalogue, UnknownWorkload, Workload, load_catalogue, workloads
from kernsmith.guest.own import shipped_files
from kernsmith.guest.workloads import parse_catalogue

LAB = {
    "afalg-cipher",
    "afalg-hash",
    "context-switch",
    "exec",
    "file",
    "fork",
    "mmap",
    "null-syscall",
    "pipe",
    "select",
    "signal",
    "tcp-latency",
    "tcp-stream",
    "unix-socket",
}
NAT = {"nat-tcp-1500", "nat-tcp-64", "nat-udp-1500", "nat-udp-64"}


def entry(name: str, *sets: str) -> dict[str, Any]:
    return {
        "name": name,
        "sets": list(sets),
        "description": f"does {name}",
        "rounds": 10,
        "warmup": 1,
        "needs": ["CONFIG_NET", "CONFIG_UNIX"],
    }


def catalogue(*entries: dict[str, Any]) -> Catalogue:
    return parse_catalogue(json.dumps({"workloads": list(entries)}))


@pytest.fixture
def small() -> Catalogue:
    return catalogue(entry("read", "lab", "fs"), entry("fork", "lab"), entry("nat", "router"))


def test_an_entry_becomes_a_workload() -> None:
    assert catalogue(entry("read", "lab")).workloads == (
        Workload("read", ("lab",), "does read", 10, 1, ("CONFIG_NET", "CONFIG_UNIX")),
    )


@pytest.mark.parametrize(
    ("names", "selected"),
    [
        (["lab"], ["read", "fork"]),
        (["nat"], ["nat"]),
        (["nat", "fs"], ["read", "nat"]),
        (["fork", "lab", "fork"], ["read", "fork"]),
        ([], []),
    ],
)
def test_select_takes_sets_and_names_and_keeps_the_order_of_the_catalogue(
    small: Catalogue, names: list[str], selected: list[str]
) -> None:
    assert [workload.name for workload in small.select(names)] == selected


def test_an_unknown_name_is_answered_with_what_is_allowed(small: Catalogue) -> None:
    with pytest.raises(UnknownWorkload) as raised:
        small.select(["lab", "raed"])
    assert raised.value.name == "raed"
    files = shipped_files("")
    sets = ", ".join(sorted({"fs", "lab", "router", *(path.parent.name for path in files)}))
    names = ", ".join(["read", "fork", "nat", *(path.stem for path in files)])
    assert str(raised.value) == (
        f"there is no workload 'raed': allowed are the sets {sets}, the workloads {names}, "
        "stressors (stress-ng:NAME:OPERATIONS), and files of your own (….toml)"
    )
    assert raised.value.exit_code == 2


def test_a_workload_names_what_a_kernel_lacks(small: Catalogue) -> None:
    read = small.select(["read"])[0]
    assert read.missing({"NET": "y", "UNIX": "m"}) == ()
    assert read.missing({"NET": "y", "UNIX": "m"}, loads=False) == ("CONFIG_UNIX",)
    assert read.missing({"NET": "y", "UNIX": "n"}) == ("CONFIG_UNIX",)
    assert read.missing({}) == ("CONFIG_NET", "CONFIG_UNIX")
    assert read.missing({"NET": "y", "UNIX": "m"}, on_demand=True) == ()
    rooted = replace(read, first=("CONFIG_UNIX",))
    assert rooted.missing({"NET": "m", "UNIX": "m"}, on_demand=True) == ("CONFIG_UNIX",)
    assert rooted.missing({"NET": "m", "UNIX": "m"}) == ()


@pytest.mark.parametrize("text", ["", "{}", '{"workloads": [{"name": "x"}]}', "usage: nonsense"])
def test_what_is_no_catalogue_is_refused(text: str) -> None:
    with pytest.raises(KernsmithError, match="lists no catalogue"):
        parse_catalogue(text)


def test_a_name_has_one_meaning() -> None:
    with pytest.raises(KernsmithError, match="a name twice: lab, read"):
        catalogue(entry("read", "lab"), entry("read"), entry("lab"))


def test_a_program_that_was_not_built_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "guest_program", lambda: tmp_path / "kernsmith-guest")
    with pytest.raises(UserError, match="has not been built"):
        load_catalogue()


@pytest.mark.usefixtures("program")
def test_the_shipped_catalogue() -> None:
    shipped = load_catalogue()
    assert {workload.name for workload in shipped.select(["lab"])} == LAB
    assert {workload.name for workload in shipped.select(["nat"])} == NAT
    for workload in shipped:
        assert workload.rounds >= 5 * workload.warmup > 0
        assert all(need.startswith("CONFIG_") for need in workload.needs)
