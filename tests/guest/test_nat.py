# SPDX-License-Identifier: GPL-2.0-or-later
"""The workloads of the set `nat` on kernels of ours: what they need, and exact counters."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.guest import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.config import read_fragment
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.paths import shipped
from kernsmith.study.file import read_study

NEEDED_OVER_MICRO = {
    "CONFIG_VETH",
    "CONFIG_NF_CONNTRACK",
    "CONFIG_NF_TABLES",
    "CONFIG_NF_TABLES_IPV4",
    "CONFIG_NFT_NAT",
    "CONFIG_NFT_MASQ",
}


def workload(name: str) -> Workload:
    return load_catalogue().select([name])[0]


def test_configs_have_what_nat_needs_or_lack_it_by_name() -> None:
    nat = workload("nat-udp-64")
    micro, lab = (read_fragment(name).symbols for name in ("micro", "lab"))
    assert nat.missing(lab) == ()
    # Kconfig's own default gives micro network namespaces.
    assert set(nat.missing(micro)) - {"CONFIG_NET_NS"} == NEEDED_OVER_MICRO


@pytest.mark.parametrize("name", ["seeds/router", "router-driver", "router-layouts"])
def test_the_studies_of_the_router_have_what_nat_needs(name: str) -> None:
    study = read_study(shipped("studies", f"{name}.toml"))
    symbols = dict(read_fragment(study.config).symbols) | dict(study.options)
    assert study.workloads == ("nat",)
    for work in load_catalogue().select(study.workloads):
        assert work.missing(symbols) == ()


def boot(kernel: Kernel, name: str, folder: Path) -> Outcome:
    short = replace(workload(name), rounds=20, warmup=2)
    return run_once(open_machine("cortex-a9"), kernel.vmlinux, Job(short, folder))


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["nat-udp-64", "nat-tcp-1500"])
def test_two_boots_of_a_router_give_equal_counters(
    nat_kernel: Kernel, name: str, tmp_path: Path
) -> None:
    first, second = (boot(nat_kernel, name, tmp_path / which) for which in ("first", "second"))
    assert first.ok, first.reason
    assert first.metrics == second.metrics
    packets = 20 * 8
    assert first.metrics["kernel_instructions"][0] > 5_000 * packets


@pytest.mark.kernel
def test_a_kernel_without_devices_for_it_says_what_it_cannot_do(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    outcome = boot(micro_kernel, "nat-udp-64", tmp_path)
    assert outcome.status == "failed"
    assert "make a pair of veth devices: Operation not supported" in outcome.reason
