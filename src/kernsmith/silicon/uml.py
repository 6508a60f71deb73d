# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are a kernel: Linux for ARCH=um, linked statically, with the load inside.

kbuild compiles the kernel; its objects are linked here, together with the program's own, as those
of any other program are: in many orders of functions, data at the same addresses in all of them.
Nothing of the source is changed: what the kernel asks of the system that it runs on is wrapped by
the linker (`--wrap`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import KernsmithError
from kernsmith.files import locked, write_text
from kernsmith.kernel.build import BUILD_SECONDS
from kernsmith.kernel.compile_cache import through_cache, write_compiler
from kernsmith.kernel.config import check_config, parse_config, render_config
from kernsmith.kernel.make import build_environment
from kernsmith.kernel.toolchain import Compiler, find_toolchain
from kernsmith.process import run
from kernsmith.silicon.binaries import Objects, compile_program
from kernsmith.silicon.builds import Build
from kernsmith.silicon.programs import KernelPart, Program

# Calls as in a kernel of a processor: ARCH=um compiles for code that may be anywhere, where each
# call goes through a register (its modules may be far away; there are none).
_FLAGS = ("-ffunction-sections", "-mcmodel=small")
# What arch/um/Makefile has wrapped, whatever the program wraps.
_WRAPPED = ("malloc", "free", "calloc")
_LINK = (
    "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,norelro",
    "-Wl,--no-eh-frame-hdr",
)  # fmt: skip
# The text begins at 0x60000000; all else lies here, whatever the text's order is.
_APART = """\
  . = 0x61000000;
  /DISCARD/ : { *(.modinfo) }
  .gcc_except_table : { *(.gcc_except_table .gcc_except_table.*) } :data
  . = ALIGN(4096);
"""
# Sections of all kinds share pages behind the text: one segment, as GNU ld makes it.
_SEGMENTS = """\
PHDRS
{
  text PT_LOAD FILEHDR PHDRS FLAGS(5);
  data PT_LOAD FLAGS(7);
  tls PT_TLS FLAGS(4);
  stack PT_GNU_STACK FLAGS(6);
}
"""
_PLACES = (
    (r"^SECTIONS$", f"{_SEGMENTS}SECTIONS"),
    (r"\. = ALIGN\([^;]*\);(\s*_text = \.;)", r". = ALIGN(64);\1"),
    (r"^(\s*\.syscall_stub\s*:)", rf"{_APART}\1"),
    (r"\*\(\.rela\.iplt\)", "*(.rela.iplt) *(.rela.dyn)"),
    (r"^(\s*\.tdata\s*:.*)$", r"\1 :data :tls"),
    (r"^(\s*\.sdata\s*:.*)$", r"\1 :data"),
    (r"^(.*\s\.bss : .*)$", r"\1 :data"),
)
_SCRIPT = "arch/um/kernel/vmlinux.lds"
# Any file that no flags of its own are given for (`CFLAGS_…` in its folder's Makefile).
_PLAIN = "lib/.kstrtox.o.cmd"


def compile_with_kernel(
    program: Program,
    kernel: KernelPart,
    build: Build,
    compiler: Compiler,
    profile: Sequence[str] = (),
    mark: str = "",
) -> Objects:
    """Compile a program and the kernel that it is a part of; what is there is taken.

    profile, mark: see `binaries.compile_program`.

    Raises:
        UserError: the kernel's source has not got a symbol of the config.
        ProcessFailed: kbuild's or the compiler's own error.
    """
    flags = (*build.flags, *profile)
    output = _built(
        kernel, kernel_folder(kernel, build, compiler, [mark] if mark else profile), flags, compiler
    )
    objects = compile_program(program, build, compiler, profile, mark)
    script = objects.folder / "kernel.lds"
    parts = [objects.folder / f"kernel-{number}.o" for number in range(len(kernel.files))]
    with locked(objects.folder / "lock"):
        if not script.exists():
            for file, part in zip(kernel.files, parts, strict=True):
                _compile_part(output, file, part)
            write_text(script, with_data_apart((output / _SCRIPT).read_text()))
    wraps = (f"-Wl,--wrap={name}" for name in (*_WRAPPED, *kernel.wrap))
    made = (
        output / name for name in ("vmlinux.a", ".vmlinux.export.o", "init/version-timestamp.o")
    )
    inputs = ("-Wl,--whole-archive", *map(str, made), "-Wl,--no-whole-archive")
    return replace(
        objects, kernel=output, flags=flags, files=(*objects.files, *parts), inputs=inputs,
        frame=(*_LINK, f"-Wl,--script={script}", *wraps),
    )  # fmt: skip


def kernel_folder(
    kernel: KernelPart, build: Build, compiler: Compiler, guided: Sequence[str] = ()
) -> Path:
    """Where a program's kernel is or will be, built in one way. guided: what tells its profile."""
    toolchain = find_toolchain(compiler.name)
    of = [kernel.digest, kernel.config.read_text(), toolchain.compilers, *_FLAGS, *build.flags]
    of += guided
    key = hashlib.sha256(json.dumps(of).encode()).hexdigest()[:32]
    return paths.cache_root() / "programs" / "kernels" / key


def is_built(folder: Path) -> bool:
    """Whether the kernel in a folder is whole."""
    return (folder / "whole").exists()


def with_data_apart(script: str) -> str:
    """The kernel's linker script with all that lies behind the text at an address of its own.

    What GNU ld places by itself and lld does not is told: the file's header, where the C library
    looks for it; the relocations that choose its functions; and read-only sections behind the data.

    Raises:
        KernsmithError: the script has another form.
    """
    for old, new in _PLACES:
        script, count = re.subn(old, new, script, count=1, flags=re.MULTILINE)
        if not count:
            raise KernsmithError(f"{_SCRIPT} of this source has another form: it lacks {old}")
    return script


def _built(kernel: KernelPart, folder: Path, flags: Sequence[str], compiler: Compiler) -> Path:
    """What kbuild makes of the kernel in a folder. flags: those of all its code."""
    output = folder / "out"
    with locked(folder / "lock"):
        if not is_built(folder):
            output.mkdir(exist_ok=True)
            write_compiler(folder, kernel.tree)
            _make(kernel, flags, compiler, output)
            write_text(folder / "whole", "")
    return output


def make_command(
    kernel: KernelPart, flags: Sequence[str], compiler: Compiler, output: Path
) -> list[str]:
    """What kbuild is called with, but for its targets. flags: those of all the kernel's code."""
    folder, toolchain = output.parent, find_toolchain(compiler.name)
    variables = dict(toolchain.make_variables)
    variables["HOSTCC"] = through_cache(folder, toolchain.host_compiler)
    variables["CC"] = through_cache(folder, variables["CC"])
    maps = (f"-ffile-prefix-map={output}=.", f"-ffile-prefix-map={kernel.tree}/=")
    variables["KCFLAGS"] = " ".join((*maps, *_FLAGS, *flags))
    variables["ARCH"] = "um"
    # llvm-objcopy refuses the static binary that kbuild itself links, which nobody runs.
    variables["OBJCOPY"] = "objcopy"
    pairs = [f"{name}={value}" for name, value in variables.items()]
    return ["make", "-C", str(kernel.tree), f"O={output}", *pairs]


def _make(kernel: KernelPart, flags: Sequence[str], compiler: Compiler, output: Path) -> None:
    folder, compilers = output.parent, find_toolchain(compiler.name).compilers
    command = make_command(kernel, flags, compiler, output)

    def make(*targets: str) -> None:
        run(
            [*command, *targets], log=folder / f"{targets[-1]}.log", timeout=BUILD_SECONDS,
            env=build_environment(compilers), capture=False,
        )  # fmt: skip

    requested = parse_config(kernel.config.read_text())
    make("tinyconfig")
    config = output / ".config"
    config.write_text(config.read_text() + render_config(requested))
    make("olddefconfig")
    check_config(requested, config.read_text(), kernel.tree)
    make(f"-j{os.cpu_count() or 1}", "vmlinux")


def _compile_part(output: Path, source: Path, target: Path) -> None:
    """Compile a file as kbuild has compiled one of the kernel's own."""
    noted = (output / _PLAIN).read_text().partition("\n")[0].partition(":=")[2]
    words = shlex.split(noted.partition(" ; ")[0])
    flags = [word for word in words[: words.index("-c")] if not word.startswith("-Wp,-M")]
    folder = f"-I{source.parent}"
    run([*flags, folder, "-c", "-o", str(target), str(source)], timeout=BUILD_SECONDS, cwd=output)
