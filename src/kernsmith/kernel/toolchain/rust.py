# SPDX-License-Identifier: GPL-2.0-or-later
"""Rust for kernels with `CONFIG_RUST`: rustc, the source of its library, and bindgen.

kbuild compiles `core` itself, from the library's source, and has bindgen read the kernel's headers
by libclang (Documentation/rust/quick-start.rst). All four decide what the kernel's code is.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.errors import KernsmithError, ProgramMissing, UserError
from kernsmith.kernel.toolchain.compiler import Compiler, default_compiler, find_compiler
from kernsmith.kernel.toolchain.content import CLANG, content_of, needed_libraries, tree_content
from kernsmith.kernel.toolchain.programs import RUST, entries_of, private_root

RUST_REMEDY = f"kernsmith toolchain add {RUST}"
_SECONDS = 60.0
_TRIPLE = find_arch().target.triple
# clang and bindgen number their libraries, libclang-cpp is another one.
_LIBCLANG = re.compile(r"libclang(?:-\d[\d.]*)?\.so(?:\.[\d.]+)?")
# What both compilers call otherwise: the level of optimisation, the processor.
_SAME = {"-O2": "-Copt-level=2", "-O3": "-Copt-level=3", "-Os": "-Copt-level=s"}
_PREFIXES = {"-march=": "-Ctarget-cpu=", "-mtune=": "-Ztune-cpu="}


@dataclass(frozen=True)
class Rust:
    """What Rust code of a kernel is built with.

    rustc, bindgen: paths of programs. release, bindgen_release: their versions, `(1, 97, 1)`.
    llvm: the version of LLVM in rustc, which reads profiles. banner: `rustc --version`, for people.
    library: the folder with the source of `core`. libclang: the library that bindgen reads C with.
    contents: digest of each one's content, for identity.
    """

    rustc: str
    release: tuple[int, ...]
    llvm: tuple[int, ...]
    banner: str
    library: Path
    bindgen: str
    bindgen_release: tuple[int, ...]
    libclang: Path
    contents: tuple[tuple[str, str], ...]

    @property
    def make_variables(self) -> tuple[tuple[str, str], ...]:
        """What kbuild and, through its environment, bindgen is told."""
        return (
            ("RUSTC", self.rustc),
            ("HOSTRUSTC", self.rustc),
            ("BINDGEN", self.bindgen),
            ("RUST_LIB_SRC", str(self.library)),
            ("LIBCLANG_PATH", str(self.libclang)),
        )

    @property
    def tools(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Each program with its version, by the word of scripts/min-tool-version.sh."""
        return {
            "rustc": (self.rustc, self.release),
            "bindgen": (self.bindgen, self.bindgen_release),
        }


@dataclass(frozen=True)
class _Place:
    """Where a rustc was looked for: what is there, and what is missing, each with its remedy."""

    release: tuple[int, ...] = ()
    rustc: str = ""
    library: Path = Path()
    bindgen: str = ""
    missing: tuple[str, ...] = ()


def find_rust(compiler: Compiler) -> Rust:
    """The Rust toolchain beside a C compiler: in the private root or on PATH, the newer one of
    those that are complete.

    compiler: bindgen reads the kernel's headers by the libclang of its version if it is a clang
        and that is there.

    Raises:
        UserError: none is complete; says what is missing, and how to get it.
    """
    return _find(compiler)


@cache
def _find(compiler: Compiler) -> Rust:
    root = private_root(RUST)
    # A root that is not finished has no toolchain.json.
    roots = [root / "usr/bin"] if (root / "toolchain.json").exists() else []
    places = [_look(folder) for folder in [*roots, None]]
    complete = [place for place in places if not place.missing]
    if not complete:
        missing = " and ".join(places[-1].missing)
        raise UserError(
            f"CONFIG_RUST needs rustc, the source of its library, and bindgen, but here is "
            f"{missing}; get all of them, beside the system's, with: {RUST_REMEDY} (or set "
            "CONFIG_RUST=n)"
        )
    place = max(complete, key=lambda place: place.release)
    libclang = _libclang(compiler, root)
    if libclang is None:
        wanted = f"libclang1-{compiler.version}" if compiler.family == CLANG else "libclang1"
        raise UserError(
            f"CONFIG_RUST needs libclang, by which bindgen reads C: apt-get install {wanted}"
        )
    said = _said(place.rustc, "--version", "--verbose")
    return Rust(
        rustc=place.rustc,
        release=place.release,
        llvm=_release(said, r"^LLVM version: "),
        banner=said.splitlines()[0],
        library=place.library,
        bindgen=place.bindgen,
        bindgen_release=_release(_said(place.bindgen, "--version"), r"^bindgen "),
        libclang=libclang,
        contents=(
            ("rustc", content_of([place.rustc], _drivers(place.rustc))),
            ("rust library", tree_content(place.library)),
            ("bindgen", content_of([place.bindgen], [libclang])),
        ),
    )


def rust_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """What rustc is told where a C compiler is told these flags; those that mean nothing to it are
    left out.

    LLVM's own options (`-mllvm`) are the same for both. rustc has no flag for clang's
    `-fprofile-sample-accurate`, but LLVM has an option for it.
    """
    found: list[str] = []
    for before, flag in zip(["", *flags], flags, strict=False):
        if before == "-mllvm":
            found.append(f"-Cllvm-args={flag}")
        elif flag == "-fprofile-sample-accurate":
            found.append("-Cllvm-args=-profile-sample-accurate")
        elif flag == "-ffunction-sections":
            found.append("-Zfunction-sections=y")
        elif flag in _SAME:
            found.append(_SAME[flag])
        found += [
            new + flag.removeprefix(old) for old, new in _PREFIXES.items() if flag.startswith(old)
        ]
    return tuple(found)


def _look(folder: Path | None) -> _Place:
    """What there is of a Rust toolchain in a folder; None: on PATH."""
    path = None if folder is None else str(folder)
    found, bindgen = shutil.which("rustc", path=path), shutil.which("bindgen", path=path)
    missing = () if bindgen else ("no bindgen (cargo install --locked bindgen-cli)",)
    if found is None:
        return _Place(missing=("no rustc", *missing))
    try:
        sysroot = Path(_said(found, "--print", "sysroot").strip())
        release = _release(_said(found, "--version"), r"^rustc ")
    except KernsmithError as error:
        return _Place(missing=(f"a rustc that does not run ({str(error).splitlines()[0]})",))
    # rustup's program is one for all of its toolchains.
    own = sysroot / "bin/rustc"
    library = sysroot / "lib/rustlib/src/rust/library"
    if not (library / "core/src/lib.rs").exists():
        version = ".".join(map(str, release))
        source = "rustup component add rust-src, or apt-get install rust-src"
        missing = (f"rustc {version} without its library's source ({source})", *missing)
    rustc = str(own if own.exists() else Path(found).absolute())
    return _Place(release, rustc, library, str(bindgen), missing)


def _libclang(compiler: Compiler, root: Path) -> Path | None:
    """The libclang of the compiler's LLVM, else of the newest clang here, else of the root."""
    folders = []
    for name in (compiler.program if compiler.family == CLANG else "", _newest_clang()):
        if program := shutil.which(name) if name else None:
            folders.append(Path(program).resolve().parent.parent / "lib")
    folders += [*sorted(root.glob("usr/lib/llvm-*/lib"), reverse=True), root / f"usr/lib/{_TRIPLE}"]
    for folder in folders:
        named = (path for path in entries_of(folder) if _LIBCLANG.fullmatch(path.name))
        if found := [path for path in named if path.exists()]:
            return found[0]
    return None


def _newest_clang() -> str:
    try:
        return find_compiler(default_compiler()).program
    except ProgramMissing:
        return ""


def _drivers(rustc: str) -> list[Path]:
    """The libraries that rustc consists of: its driver, and the LLVM that this needs."""
    sysroot = Path(_said(rustc, "--print", "sysroot").strip())
    folders = (sysroot / "lib", sysroot / "lib" / _TRIPLE)
    drivers = [path for folder in folders for path in sorted(folder.glob("librustc_driver-*.so"))]
    needed = {name for driver in drivers for name in needed_libraries(driver)}
    llvm = [folder / name for name in needed if name.startswith("libLLVM") for folder in folders]
    return [*drivers, *(path for path in sorted(llvm) if path.exists())]


def _said(program: str, *words: str) -> str:
    return process.run([program, *words], timeout=_SECONDS).output


def _release(text: str, before: str) -> tuple[int, ...]:
    found = re.search(before + r"(\d+(?:\.\d+)*)", text, re.MULTILINE)
    return tuple(map(int, found[1].split("."))) if found else ()
