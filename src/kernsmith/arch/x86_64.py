# SPDX-License-Identifier: GPL-2.0-or-later
"""x86-64: 64-bit kernels for processors of Intel, AMD and Zhaoxin."""

import re

from kernsmith.arch.arch import Arch, BootWords, Disk, Qemu, Registers, Target

ARCH = Arch(
    name="x86_64",
    kbuild="x86",
    srctree="x86",
    # CONFIG_PVH: QEMU takes the ELF file itself.
    booted="vmlinux",
    image="bzImage",
    image_file="arch/x86/boot/bzImage",
    switch="__switch_to_asm",
    processors=("ACPI", "X86_MPPARSE"),
    qemu=Qemu(
        program="qemu-system-x86_64",
        machine="",
        # TCG executes a byte string instruction one byte at a time; without these two features the
        # kernel copies eight bytes an iteration, as it does on CPUs without fast short `rep movsb`.
        cpu="max,-erms,-fsrm",
    ),
    boot=BootWords(
        console="ttyS0",
        reset="reboot=t",
        # Most of a boot would be spent in a calibration loop that TCG runs slowly.
        untimed="noapictimer no_timer_check",
    ),
    # The first address of QEMU's memory devices while the guest has less than 3 GiB.
    disk=Disk(
        address=1 << 32,
        word="phram.phram=root,{address},{size}",
        kept_out="acpi_no_memhotplug",  # CONFIG_ACPI_HOTPLUG_MEMORY, in distributions' kernels
    ),
    target=Target(
        triple="x86_64-linux-gnu",
        flags=("-m64", "-ffreestanding", "-mno-sse", "-mno-sse2", "-mno-mmx", "-mno-80387"),
        march="x86-64",
        debian="amd64",
        loader="ld-linux-x86-64.so.2",
        returns=b"\xc3",
    ),
    registers=Registers(
        instruction=re.compile(r"^\s+[a-z][^#]*%(?:[xyzt]?mm\d|st\b|k[0-7]\b)"),
        folders=(
            "arch/x86",
            "lib",
            "crypto",
            "net/netfilter",
            "drivers/gpu/drm/i915",
            "drivers/gpu/drm/drm_cache.c",
        ),
        assembly=re.compile(r"%[xyz]mm|\b[xyz]mm\d"),
        c=re.compile(r'"[^"\n]*(?:%%[xyz]mm|%%mm\d|\bfdivl\b)'),
        called=re.compile(r"\b(?:call|j[a-z]{1,3})\s+\*?\w+"),
        flag=re.compile(r"-m(?:sse|avx|mmx|3dnow|80387|hard-float)[\w.]*"),
    ),
)
