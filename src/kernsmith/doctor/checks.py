# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine can do, and what it lacks, each with the command that mends it.

Everything is tried, not looked up: compilers are asked for their version, the tracer is loaded by
QEMU, and KVM has to boot a guest.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths, process
from kernsmith.errors import KernsmithError, ProgramMissing
from kernsmith.kernel.artifact import load_kernel
from kernsmith.kernel.toolchain import OLDEST_CLANG
from kernsmith.kernel.toolchain.programs import entries_of, path_folders
from kernsmith.machine.kvm_host import NoKvm, kvm_processor
from kernsmith.machine.kvm_probe import QEMU, boot_kernel, boot_probe

OK = "ok"
MISSING = "missing"
LIMITED = "limited"

QEMU_OLDEST = 10
_DISK_GIB = 15.0
_MEMORY_GIB = 4.0
_SETUP = "make setup"
# What only some things need, with these; without the others no kernel is built.
_BUILDS = {
    "make": "",
    "flex": "",
    "bison": "",
    "bc": "",
    "perl": "",
    "tar": "",
    "xz": "",
    "gzip": "",
    "git": "no revisions of a repository as sources, no bisect and no watch",
    "cpio": "no kernels with CONFIG_IKHEADERS, no packages for rpm",
    "zstd": "no kernels with CONFIG_KERNEL_ZSTD",
    "depmod": "no packages of kernels with modules",
    "rsync": "no packages of kernels",
    "apt-get": "no sources debian:VERSION",
    "dpkg-deb": "no sources debian:VERSION",
}
# Of libraries that kbuild's own tools are linked with (objtool; the signer of modules).
_HEADERS = {"gelf.h": "libelf-dev", "openssl/evp.h": "libssl-dev"}
_TRACER = "target/release/libkernsmith_tracer.so"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    status: `ok`; `missing` (kernsmith's main job needs it); `limited` (works without it).
    detail: what was seen.
    remedy: the command or step that mends it; empty when nothing is to be mended.
    """

    name: str
    status: str
    detail: str
    remedy: str = ""


def examine(progress: Callable[[str], None] = lambda name: None) -> tuple[Finding, ...]:
    """Look at everything, in the order in which the main job needs it. Takes some seconds.

    progress: called with the name of what is looked at next.
    """
    findings: list[Finding] = []
    for name, look in _CHECKS:
        progress(name)
        try:
            findings += look()
        except ProgramMissing as missing:
            findings.append(Finding(name, MISSING, f"{missing.program} is not installed", _SETUP))
        except KernsmithError as error:
            findings.append(Finding(name, MISSING, str(error).splitlines()[0], _SETUP))
    return tuple(findings)


def _compilers() -> Iterator[Finding]:
    best = 0
    for program in _on_path(r"(clang|gcc)(-\d+)?"):
        banner = _first_line(program)
        version = _major(banner)
        detail = banner
        if "clang" in program.name:
            best = max(best, version)
            if version < OLDEST_CLANG:
                detail += f" (too old for AutoFDO and Propeller: those need {OLDEST_CLANG})"
        yield Finding(program.name, OK, detail)
    if best < OLDEST_CLANG:
        yield Finding("clang", MISSING, f"no clang {OLDEST_CLANG} or newer", _SETUP)


def _llvm_tools() -> Iterator[Finding]:
    for pattern, needed_for in (
        ("ld.lld", "linking and layouts"),
        ("llvm-profgen", "AutoFDO profiles"),
    ):
        best = 0
        for program in _on_path(rf"{re.escape(pattern)}(-\d+)?"):
            line = _version_line(program)
            best = max(best, _major(line))
            yield Finding(program.name, OK, line)
        if best < OLDEST_CLANG:
            detail = f"no version {OLDEST_CLANG} or newer; needed for {needed_for}"
            yield Finding(pattern, MISSING, detail, _SETUP)


def _build_tools() -> Iterator[Finding]:
    """What kernels are built with beside compilers, and headers of libraries for kbuild's tools."""
    found = []
    for program, without in _BUILDS.items():
        status = LIMITED if without else MISSING
        try:
            process.run([program, "--version"], log=None, timeout=30, check=False)
        except ProgramMissing as missing:
            detail = f"not installed: {without or 'no kernel is built'}"
            yield Finding(program, status, detail, missing.remedy)
        else:
            found.append(program)
    for header, package in _HEADERS.items():
        if _includes(header):
            found.append(header)
        else:
            detail = "not installed: no kernel is built whose tools need it"
            yield Finding(header, MISSING, detail, f"sudo apt-get install {package}")
    if found:
        yield Finding("build tools", OK, ", ".join(found))


def _includes(header: str) -> bool:
    """Whether a compiler finds a header; True where there is no compiler, which is told anyway."""
    compilers = _on_path(r"(clang|gcc)(-\d+)?")
    if not compilers:
        return True
    command: list[str | Path] = [compilers[-1], "-E", "-include", header, "-x", "c", "/dev/null"]
    return not process.run(command, log=None, timeout=30, check=False).returncode


def _qemu() -> Iterator[Finding]:
    banner = _first_line(process.find(QEMU))
    version = _major(banner)
    if version < QEMU_OLDEST:
        detail = f"{banner}; the tracer needs {QEMU_OLDEST} or newer"
        yield Finding("QEMU", MISSING, detail, _SETUP)
    else:
        yield Finding("QEMU", OK, banner)


def _tracer() -> Iterator[Finding]:
    tracer = paths.shipped(_TRACER)
    if not tracer.exists():
        yield Finding("tracer", MISSING, "not built yet", _SETUP)
        return
    models = sorted(paths.shipped("cpus").glob("*.toml"))
    if not models:
        yield Finding("tracer", MISSING, "there is no cpu model in cpus/", _SETUP)
        return
    with tempfile.TemporaryDirectory(prefix="kernsmith-") as folder:
        plugin = f"{tracer},cpu={models[0]},out={folder}/counters.json"
        options = ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"]
        booted = boot_probe([*options, "-cpu", "max", "-plugin", plugin])
    if booted.ok:
        yield Finding("tracer", OK, "QEMU loads it and runs a guest under it")
    else:
        yield Finding("tracer", MISSING, booted.detail, _SETUP)


def _kvm() -> Iterator[Finding]:
    instead = "not needed for --machine tcg"
    try:
        processor = kvm_processor()
    except NoKvm as none:
        yield Finding("KVM", LIMITED, f"{none.detail}; {instead}", none.remedy)
        return
    detail = "boots a guest in long mode with exceptions and interrupts"
    if vmlinux := _newest_kernel():
        booted = boot_kernel(vmlinux, ["-accel", "kvm", "-cpu", processor])
        if not booted.ok:
            remedy = "use --machine tcg here; KVM needs a host with full hardware virtualisation"
            yield Finding("KVM", LIMITED, f"a small guest boots, but {booted.detail}", remedy)
            return
        detail = booted.detail
    yield Finding("KVM", OK, f"{detail}: --machine kvm")


def _newest_kernel() -> Path | None:
    built = (load_kernel(path.parent) for path in paths.kernels().glob("*/provenance.json"))
    present = [kernel.vmlinux for kernel in built if kernel and not kernel.program]
    return max(present, key=lambda path: path.stat().st_mtime, default=None)


def branch_records(
    devices: Path = Path("/sys/bus/event_source/devices"), cpuinfo: Path = Path("/proc/cpuinfo")
) -> Finding:
    """Whether the CPU's own branch records (LBR, BRS) can be sampled, from what the kernel shows.

    `caps/branches` of the CPU's PMU is the number of records (Documentation/ABI/testing/
    sysfs-bus-event_source-devices-caps); the flags are those of arch/x86/include/asm/cpufeatures.h.
    """
    name = "branch records"
    remedy = "none needed: the tracer writes exact profiles (a virtual machine rarely has a PMU)"
    pmus = [path for path in (devices / "cpu", devices / "cpu_core") if path.is_dir()]
    flags = re.search(r"^flags\s*:(.*)$", _text(cpuinfo), re.MULTILINE)
    known = ("arch_lbr", "brs", "amd_lbr_v2", "arch_perfmon", "perfctr_core")
    seen = [flag for flag in known if flags and flag in flags[1].split()]
    if not pmus:
        shown = f"flags: {' '.join(seen)}" if seen else "nor does the CPU announce one"
        detail = f"the kernel offers no hardware PMU ({devices}/cpu is absent; {shown})"
        return Finding(name, LIMITED, detail, remedy)
    for pmu in pmus:
        count = _text(pmu / "caps" / "branches").strip()
        if count.isdigit() and int(count) > 0:
            return Finding(name, OK, f"{pmu.name}: {count} branch records a sample")
    if any(flag in seen for flag in ("brs", "amd_lbr_v2", "arch_lbr")):
        return Finding(name, OK, f"a PMU is there, and the CPU announces {' '.join(seen)}")
    return Finding(name, LIMITED, "a PMU is there, but no branch records (caps/branches)", remedy)


def _branch_records() -> Iterator[Finding]:
    yield branch_records()


def _ccache() -> Iterator[Finding]:
    try:
        yield Finding("ccache", OK, _first_line(process.find("ccache")))
    except ProgramMissing as missing:
        detail = "not installed: every build starts from nothing"
        yield Finding("ccache", LIMITED, detail, missing.remedy)


def _pahole() -> Iterator[Finding]:
    try:
        yield Finding("pahole", OK, _first_line(process.find("pahole")))
    except ProgramMissing as missing:
        detail = "not installed: kernels with CONFIG_DEBUG_INFO_BTF=y are refused"
        yield Finding("pahole", LIMITED, detail, missing.remedy)


def _roots() -> Iterator[Finding]:
    kinds = {
        "mmdebstrap": "Debian's packages", "sqfstar": "folders", "guestfish": "btrfs, xfs and LVM",
    }  # fmt: skip
    for program, what in kinds.items():
        try:
            found = process.find(program)
        except ProgramMissing as missing:
            detail = f"not installed: workloads have no roots of {what}"
            yield Finding(program, LIMITED, detail, missing.remedy)
        else:
            words = [found, "-version" if program == "sqfstar" else "--version"]
            lines = process.run(words, log=None, timeout=30, check=False).output.splitlines()
            yield Finding(program, OK, lines[0].strip() if lines else str(found))
    if os.geteuid():
        yield unprivileged(getpass.getuser())


def unprivileged(user: str) -> Finding:
    """Whether mmdebstrap can install packages without root's rights: it does so as other users of a
    user namespace, with ids that the host has set apart (subuid(5), newuidmap(1))."""
    name = "user namespaces"
    words = ["unshare", "--user", "--map-root-user", "--map-auto", "true"]
    try:
        process.run(words, log=None, timeout=30)
    except KernsmithError as error:
        why = getattr(error, "tail", "").strip().splitlines() or [str(error)]
        ids = f"--add-subuids 100000-165535 --add-subgids 100000-165535 {user}"
        remedy = f"sudo apt install uidmap; sudo usermod {ids}"
        detail = f"without root's rights there are no roots and no proofs ({why[-1]})"
        return Finding(name, LIMITED, detail, remedy)
    return Finding(name, OK, f"{user} can be root among its own: roots need no root's rights")


def _space() -> Iterator[Finding]:
    folder = paths.cache_root()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / 2**30
    detail = f"{free:.0f} GiB free for {paths.cache_root()}"
    if free >= _DISK_GIB:
        yield Finding("disk", OK, detail)
    else:
        remedy = f"free some, or put KERNSMITH_CACHE on a disk with {_DISK_GIB:.0f} GiB"
        yield Finding("disk", LIMITED, detail, remedy)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    detail = f"{memory:.0f} GiB for {os.cpu_count()} CPUs"
    if memory >= _MEMORY_GIB:
        yield Finding("memory", OK, detail)
    else:
        remedy = f"linking a kernel with LTO or Propeller takes up to {_MEMORY_GIB:.0f} GiB"
        yield Finding("memory", LIMITED, detail, remedy)


_CHECKS: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
    ("compilers", _compilers),
    ("LLVM tools", _llvm_tools),
    ("build tools", _build_tools),
    ("QEMU", _qemu),
    ("tracer", _tracer),
    ("KVM", _kvm),
    ("branch records", _branch_records),
    ("ccache", _ccache),
    ("pahole", _pahole),
    ("roots", _roots),
    ("space", _space),
)


def _on_path(pattern: str) -> list[Path]:
    """All programs on PATH whose whole name matches, each name once, sorted."""
    found: dict[str, Path] = {}
    for folder in path_folders():
        for entry in entries_of(folder):
            if re.fullmatch(pattern, entry.name) and os.access(entry, os.X_OK):
                found.setdefault(entry.name, entry)
    return [found[name] for name in sorted(found)]


def _version_line(program: Path) -> str:
    """The line of `--version` that has the version (LLVM's tools print their name first)."""
    lines = process.run([program, "--version"], log=None, timeout=30).output.splitlines()
    return next((line.strip() for line in lines if re.search(r"\d+\.\d+", line)), "")


def _first_line(program: Path) -> str:
    return process.run([program, "--version"], log=None, timeout=30).output.splitlines()[0].strip()


def _major(banner: str) -> int:
    found = re.search(r"(\d+)\.\d+", banner)
    return int(found[1]) if found else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
