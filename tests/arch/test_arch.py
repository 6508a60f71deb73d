# SPDX-License-Identifier: GPL-2.0-or-later
"""An architecture is one value; what it says is nowhere said again."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import kernsmith
from kernsmith.arch import DEFAULT, Arch, architectures, find_arch
from kernsmith.errors import UserError
from kernsmith.study import Variant

# Flavours of Debian's kernels are words that users write; help and messages have examples of them.
FLAVOUR = re.compile(r"\b(cloud|rt)-amd64\b")
# x86-64's by their nature: processors as its compilers know them, branch records and KVM's probe.
ALSO_OF_X86 = ("kernel/cpu/", "doctor/", "machine/kvm")
SAID_ONCE = re.compile(
    r"bzImage|ttyS0|qemu-system-|-m64\b|x86_64-linux-gnu|amd64|ld-linux|%%?\[?[xyz]{1,3}\]?mm"
    r"|\barch/x86|ARCH=x86|noapictimer"
)


@pytest.mark.parametrize("arch", architectures().values(), ids=lambda arch: arch.name)
def test_an_architecture_says_what_is_needed(arch: Arch) -> None:
    assert find_arch(arch.name) is arch
    assert arch.images[0] == "vmlinux"
    assert arch.image in arch.image_file
    assert arch.target.is_of(f"{arch.target.triple}")
    assert not arch.target.is_of("no-such-machine")
    assert all(word for word in (*arch.boot.words.split(), arch.qemu.program, *arch.qemu.options))


def test_the_default_compiles_here() -> None:
    """What gcc calls its target is the architecture that this system's kernels are for."""
    told = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True)
    assert find_arch().target.is_of(told.stdout.strip())


def test_an_unknown_architecture_is_told() -> None:
    with pytest.raises(UserError, match=r"no architecture 'pdp11': allowed are x86_64"):
        find_arch("pdp11")


def test_the_architecture_is_part_of_a_variant_and_the_first_adds_nothing_to_its_name() -> None:
    variant = Variant(source="debian:7.3", config="micro")
    assert variant.arch == DEFAULT
    assert "arch" not in variant.identity()
    other = replace(variant, arch="riscv64")
    assert other.identity() == variant.identity() | {"arch": "riscv64"}
    assert other.code != variant.code


def test_nothing_else_names_what_only_one_architecture_has() -> None:
    package = Path(kernsmith.__file__).parent
    named = {
        f"{path.relative_to(package)}: {found[0]}"
        for path in package.rglob("*.py")
        if "arch/" not in str(path.relative_to(package))
        and not any(part in str(path) for part in ALSO_OF_X86)
        for found in SAID_ONCE.finditer(FLAVOUR.sub("", path.read_text()))
    }
    assert named == set()
