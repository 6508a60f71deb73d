# SPDX-License-Identifier: GPL-2.0-or-later
"""Relink a kernel's objects in another layout, without kbuild and without compiling.

kbuild's own `scripts/link-vmlinux.sh` does the linking (it makes kallsyms and sorts the tables of
exceptions, too). While a kernel is built, a script that stands in for it notes its environment; a
relink runs the script again with that environment and an order file, in a folder of its own that
refers to kbuild's output by symbolic links.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessFailed, ProgramMissing, UserError
from kernsmith.files import locked, write_text
from kernsmith.kernel import bolt
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.compile_cache import without_cache
from kernsmith.kernel.provenance import SIZES_FILE, is_whole_layout, note_sizes
from kernsmith.kernel.regions import Margin

LINK_SECONDS = 1800.0

LINKED = "KERNSMITH_LINKED"
"""kbuild's variable for more files of the final link, by their places in its output."""

LINK_SCRIPT = "scripts/link-vmlinux.sh"

NOTING_SCRIPT = f"""#!/bin/sh
# kbuild finds this before the tree's {LINK_SCRIPT}: adds the files in ${LINKED} to the link, and
# notes its environment in $KERNSMITH_LINK.
[ -z "${LINKED}" ] || export KBUILD_VMLINUX_LIBS="$KBUILD_VMLINUX_LIBS ${LINKED}"
[ -z "$KERNSMITH_LINK" ] || env -0 > "$KERNSMITH_LINK"
exec sh "$srctree/{LINK_SCRIPT}" "$@"
"""

# What scripts/gen-btf.sh makes of the first link: BTF to link, and numbers to patch in.
_BTF = (".tmp_vmlinux1.btf.o", ".tmp_vmlinux1.BTF_ids")
_BTF_SHELL = """#!/bin/sh
# What link-vmlinux.sh starts its scripts with: gives the BTF that the kernel has already.
case "$1" in
*/gen-btf.sh) exec cp {btf_files} . ;;
esac
exec /bin/sh "$@"
"""

LAYOUTS = "layouts"
_PADDING_TEXT = """\
.section {section}, "ax", @progbits, unique, {number}
.balign {align}
.globl {name}
.type {name}, @function
{name}:
.skip {size}, 0xcc
.size {name}, {size}
.section .note.GNU-stack, "", @progbits
"""
_KEPT = (
    "CC", "CONFIG_SHELL", "HOSTCC", "KBUILD_AFLAGS", "KBUILD_AFLAGS_KERNEL", "KBUILD_CPPFLAGS",
    "KBUILD_LDFLAGS", "KBUILD_LDS", "KBUILD_VMLINUX_LIBS", "LD", "LDFLAGS_vmlinux", "LINUXINCLUDE",
    "NM", "NOSTDINC_FLAGS", "OBJCOPY", "SRCARCH", "objtree", "srctree", "srcroot", "obj", "PATH",
    "AWK", "READELF", "STRIP", "PYTHON3", "PERL", "PAHOLE", "PAHOLE_FLAGS",
    "RESOLVE_BTFIDS", "RESOLVE_BTFIDS_FLAGS",
)  # fmt: skip


class LinkFailed(KernsmithError):
    """A layout that does not link; the message shows the command, the last lines, the log."""


def place_script(output: Path, text: str) -> None:
    """Put a script into kbuild's output that stands in for the tree's `LINK_SCRIPT`."""
    path = output / LINK_SCRIPT
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    write_text(path, text)
    path.chmod(0o755)


def record_link(folder: Path) -> None:
    """Check that the link's environment was noted while the kernel was built.

    Raises:
        UserError: the source links in a way that this program does not know.
    """
    if not (folder / "link.env").exists():
        raise UserError(
            f"the source in {folder / 'out' / 'source'} does not link by {LINK_SCRIPT}; "
            "such a kernel has no layouts but its default one"
        )


def layout_image(kernel: Kernel, name: str) -> Path:
    """Where the image of a layout is or will be; `name` is a word for a file name."""
    return kernel.folder / LAYOUTS / name / "vmlinux"


def is_linked(image: Path) -> bool:
    """Whether the image of a layout is there and whole: what a kill, a full disk or somebody has
    left half is linked anew."""
    return is_whole_layout(image.parent)


@dataclass(frozen=True)
class _Padding:
    """So many bytes that do nothing; an order puts them where its name stands."""

    name: str
    section: str
    size: int
    align: int = 16


def relink(
    kernel: Kernel,
    name: str,
    order: list[str],
    paddings: Mapping[str, int] = MappingProxyType({}),
    margins: Mapping[str, Margin] = MappingProxyType({}),
    alignments: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Link the kernel with its functions in the given order; returns the `vmlinux`.

    Functions that `order` does not name keep their places behind those that it names, group by
    group as the kernel's linker script has them. The image has no line tables. A layout that was
    linked before, and is whole, is returned at once.

    With `CONFIG_DEBUG_INFO_BTF=y` it has the kernel's own BTF: types and numbers of functions do
    not depend on addresses.

    order: symbols of functions, first to last.
    paddings: names in `order` that are no functions but so many bytes of padding.
    margins: of regions, by the names of their sections; what stands behind a region's code does so
        where `order` names all of its functions.
    alignments: of paddings that are aligned to more than 16 bytes.

    Raises:
        LinkFailed: the linker or a table tool ended with an error.
    """
    image = layout_image(kernel, name)
    if is_linked(image):
        return image
    work = image.parent.with_name(f".{name}")
    work.parent.mkdir(exist_ok=True)
    with locked(work.with_name(f".{name}.lock")):
        if is_linked(image):
            return image
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        mirror_output(kernel.output, work)
        try:
            before, behind = _in_margins(margins)
            names = [*(one.name for one in before), *order, *(one.name for one in behind)]
            flags = ordered_flags(kernel, work, names)
            own = [
                _Padding(padding, f".text.{padding}", size, alignments.get(padding, 16))
                for padding, size in paddings.items()
            ]
            run_link(kernel, work, *flags, paddings=[*before, *own, *behind])
            _rewrite(kernel, work)
            note_sizes(work)
            keep_link(work, image.parent, SIZES_FILE)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return image


def whole_order(kernel: Kernel, order: Sequence[str]) -> list[str]:
    """An order with the kernel's own behind it, if it was linked in one; each name once."""
    return list(dict.fromkeys([*order, *kernel.order]))


def mirror_output(output: Path, work: Path) -> None:
    """Symbolic links to all that kbuild made, but for what the link itself writes."""
    written = ("vmlinux", "System.map", ".tmp_vmlinux", ".vmlinux.unstripped", ".btf.")
    for entry in output.iterdir():
        if entry.name in ("vmlinux.a", "vmlinux.o") or not (
            entry.name.startswith(written) or entry.name == ".vmlinux.d"
        ):
            (work / entry.name).symlink_to(entry)


def ordered_flags(kernel: Kernel, work: Path, order: list[str]) -> list[str]:
    """Flags that apply an order, which is kept beside the image."""
    whole = whole_order(kernel, order)
    (work / "order").write_text("".join(f"{name}\n" for name in whole))
    return [f"--symbol-ordering-file={work / 'order'}"] if whole else []


def _in_margins(margins: Mapping[str, Margin]) -> tuple[list[_Padding], list[_Padding]]:
    """What stands in front of regions, and behind them."""

    def padding(place: str, section: str, size: int) -> _Padding:
        return _Padding(f"kernsmith_{place}{section.replace('.', '_')}", section, size)

    sides = margins.items()
    before = [padding("before", name, one.before) for name, one in sides if one.before]
    return before, [padding("behind", name, one.behind) for name, one in sides if one.behind]


def run_link(kernel: Kernel, work: Path, *flags: str, paddings: Sequence[_Padding] = ()) -> None:
    noted = _noted_environment(kernel.folder / "link.env")
    script = Path(noted["srctree"]) / LINK_SCRIPT
    if not script.is_absolute():
        script = (kernel.output / script).resolve()
    noted["srctree"] = str(script.parent.parent)
    # The compiler that the script calls only assembles kallsyms: nothing to cache.
    noted["CC"] = without_cache(noted["CC"])
    noted["MAKE"] = "true"
    log = work.with_name(f"{work.name.removeprefix('.')}.log")
    objects = [str(_pad(work, noted["CC"], paddings, log))] if paddings else []
    linker_flags = noted.get("KBUILD_LDFLAGS", "").split()
    # The kernel's own order, if it has one, is in `order`.
    kept = _unordered(linker_flags)
    noted["LD"] = " ".join(_unordered(noted["LD"].split()))
    strip = _without_debug(kernel, work, script.with_name("gen-btf.sh").exists(), noted)
    ldflags = " ".join([noted.get("LDFLAGS_vmlinux", ""), *strip, *flags, *objects])
    command: list[str | Path] = [
        "sh", script, noted["LD"], " ".join(kept),
        f"{ldflags} --no-warn-symbol-ordering", "vmlinux",
    ]  # fmt: skip
    try:
        process.run(command, log=log, timeout=LINK_SECONDS, cwd=work, env=noted)
    except ProcessFailed as error:
        raise LinkFailed(f"the layout does not link: {error}").because_of(error) from error


def _rewrite(kernel: Kernel, work: Path) -> None:
    """What BOLT did to the kernel, if it did, to another link of the same objects, too."""
    if not (kernel.folder / bolt.PROFILE).exists():
        return
    program = kernel.provenance["bolted"]["program"]
    image, linked = work / "vmlinux", work / "unrewritten.vmlinux"
    linked.unlink(missing_ok=True)
    image.rename(linked)
    try:
        process.run(
            bolt.words(program, linked, image, kernel.folder),
            log=work.with_name(f"{work.name.removeprefix('.')}.bolt.log"),
            timeout=bolt.SECONDS,
        )
    except (ProcessFailed, ProgramMissing) as error:
        raise LinkFailed(f"the layout is not rewritten: {error}").because_of(error) from error


def _unordered(words: Sequence[str]) -> list[str]:
    """Words for the linker without an order of functions."""
    return [word for word in words if not word.startswith("--symbol-ordering-file=")]


def _without_debug(
    kernel: Kernel, work: Path, has_script: bool, noted: dict[str, str]
) -> list[str]:
    """Flags that leave debug information out, where nothing is made of it.

    BTF is made of it. Where a script of its own makes that (`has_script`), the kernel's is given
    in its place, which differs in no byte; in older trees pahole runs anew, for as long as it did
    when the kernel was built.
    """
    if "CONFIG_DEBUG_INFO_BTF=y\n" not in (kernel.output / ".config").read_text(encoding="utf-8"):
        return ["--strip-debug"]
    btf_files = [kernel.output / name for name in _BTF]
    if not has_script or not all(path.exists() for path in btf_files):
        return []
    shell = work / "btf-shell"
    shell.write_text(_BTF_SHELL.format(btf_files=shlex.join(map(str, btf_files))))
    shell.chmod(0o755)
    noted["CONFIG_SHELL"] = str(shell)
    return ["--strip-debug"]


def _pad(work: Path, compiler: str, paddings: Sequence[_Padding], log: Path) -> Path:
    """An object with nothing but traps, in sections that may be ordered."""
    source, compiled = work / "padding.S", work / "padding.o"
    # Sections of one name, each of its own.
    numbered = enumerate(paddings)
    sections = [_PADDING_TEXT.format(**vars(each), number=number) for number, each in numbered]
    source.write_text("".join(sections), encoding="ascii")
    command: list[str | Path] = [*compiler.split(), "-c", "-o", compiled, source]
    try:
        process.run(command, log=log, timeout=LINK_SECONDS, cwd=work)
    except ProcessFailed as error:
        raise LinkFailed(f"the layout does not link: {error}").because_of(error) from error
    return compiled


def _noted_environment(path: Path) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in path.read_text().split("\0") if entry)
    noted = {name: value for name, _, value in pairs}
    return {name: noted[name] for name in _KEPT if name in noted}


def keep_link(work: Path, folder: Path, *more: str) -> None:
    """Move what is wanted of a finished link to its place, all at once; what is there goes. more:
    further files. The caller holds the lock of the folder."""
    ready, doomed = (work.with_name(f"{work.name}.{end}") for end in ("ready", "doomed"))
    for left in (ready, doomed):
        shutil.rmtree(left, ignore_errors=True)
    ready.mkdir()
    for name in ("vmlinux", "System.map", "order", *more):
        (work / name).rename(ready / name)
    if folder.exists():
        folder.rename(doomed)
    ready.rename(folder)
    shutil.rmtree(doomed, ignore_errors=True)
