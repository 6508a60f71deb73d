# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's profile and flags in a folder: what a shell and Portage make of it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.flags import build_flags
from kernsmith.kernel.flags_folder import write_flags
from kernsmith.kernel.toolchain import default_compiler

CLANG = default_compiler()
KEY = "1395ba40" * 8


def a_kernel(folder: Path, *variables: str, steps: tuple[str, ...] = (), **more: Any) -> Kernel:
    """A kernel of which only the provenance is there."""
    options = [["AUTOFDO_CLANG", "y"], ["HZ", "1000"]]
    variant = {"compiler": CLANG, "linker": "ld.lld-22", "flags": [], "options": options}
    out = folder / "kernel/out"
    provenance = {
        "key": KEY,
        "kernsmith": "0.1.0",
        "source": {"name": "linux-7.3.4", "version": "7.3.4", "digest": "sha256:1"},
        "compiler": "clang version 22",
        "linker": "LLD 22",
        "command": [
            "make", "-C", "/src", f"O={out}", "LLVM=-22", f"CC={out}/compiler {CLANG}",
            f"HOSTCC={out}/compiler {CLANG}", f"KAFLAGS=-ffile-prefix-map={out}=.",
            *variables, "ARCH=x86", "vmlinux",
        ],
        "variant": variant | {"steps": [{"kind": kind} for kind in steps]},
    }  # fmt: skip
    (folder / "kernel").mkdir(exist_ok=True)
    return Kernel(KEY, folder / "kernel", provenance | more)


@pytest.fixture
def trained(tmp_path: Path) -> Kernel:
    """With AutoFDO and Propeller."""
    profiles = tmp_path / "my profiles"
    profiles.mkdir()
    for name in ("a.afdo", "a.idle", "p_cc_profile.txt", "p_ld_profile.txt"):
        (profiles / name).write_text(name)
    return a_kernel(
        tmp_path,
        "KCFLAGS=-ffile-prefix-map=/src/= -ffunction-sections -mllvm -x=1",
        f"CLANG_AUTOFDO_PROFILE={profiles}/a.afdo",
        f"KERNSMITH_IDLE_OBJECTS={profiles}/a.idle",
        f"CLANG_PROPELLER_PROFILE_PREFIX={profiles}/p",
        "LDFLAGS_MODULE=-T modules-in-groups.lds",
        steps=("autofdo", "propeller"),
    )


def sourced(folder: Path) -> list[str]:
    """What bash makes of the arrays, from another folder."""
    script = '. "$1/flags.sh"; printf "%s\\n" "${KERNSMITH_MAKE[@]}" "${KERNSMITH_CONFIG[@]}"'
    words = ["bash", "-euc", script, "bash", str(folder)]
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd="/").stdout.split(
        "\n"
    )[:-1]


def test_a_shell_gets_the_variables_with_the_folder_that_they_lie_in(
    trained: Kernel, tmp_path: Path
) -> None:
    folder = tmp_path / "x=flags"
    write_flags(trained, folder)
    assert sourced(folder) == [
        "KCFLAGS=-ffunction-sections -mllvm -x=1",
        f"CLANG_AUTOFDO_PROFILE={folder}/a.afdo",
        f"CLANG_PROPELLER_PROFILE_PREFIX={folder}/p",
        "LLVM=-22",
        f"CC={CLANG}",
        "LD=ld.lld-22",
        "AUTOFDO_CLANG=y",
    ]
    assert (folder / "kernsmith.config").read_text() == "CONFIG_AUTOFDO_CLANG=y\n"
    assert (folder / "p_ld_profile.txt").read_text() == "p_ld_profile.txt"
    assert (folder / "a.afdo").read_text() == "a.afdo"
    assert not (folder / "a.idle").exists()


@pytest.mark.parametrize("name", ["it's", "my flags", "a;b", "a$b"])
def test_a_folder_that_kbuild_takes_apart_is_refused(
    trained: Kernel, tmp_path: Path, name: str
) -> None:
    write_flags(trained, tmp_path / name)
    words = ["bash", "-c", '. "$1/flags.sh"', "bash", str(tmp_path / name)]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert told.stderr.startswith(f"kbuild cannot take files from {tmp_path / name}: its path has")


def test_the_folder_is_found_whatever_cd_searches(trained: Kernel, tmp_path: Path) -> None:
    for place in ("here", "elsewhere"):
        write_flags(trained, tmp_path / place / "flags")
    script = '. flags/flags.sh; printf "%s" "$KERNSMITH_FOLDER"'
    told = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path / "here", check=True, capture_output=True, text=True,
        env={"CDPATH": str(tmp_path / "elsewhere"), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert told.stdout == str(tmp_path / "here/flags")


def test_an_earlier_export_is_replaced_and_nothing_else(trained: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "flags"
    write_flags(trained, folder)
    kernel = a_kernel(tmp_path, reordered={"kernel": "2" * 64, "functions": 2})
    (kernel.folder / "order").write_text("vfs_read\n")
    write_flags(kernel, folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "flags.sh", "kernsmith.config", "make.conf", "order"
    ]  # fmt: skip
    (folder / "mine").write_text("mine")
    with pytest.raises(UserError, match="flags has other files in it: give an empty folder"):
        write_flags(trained, folder)
    assert (folder / "mine").read_text() == "mine" and (folder / "order").exists()


def test_a_readme_of_something_else_stays(trained: Kernel, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Mine\n")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text("# Mine\n")
    with pytest.raises(UserError, match="has other files in it"):
        write_flags(trained, folder)
    assert (folder / "README.md").read_text() == "# Mine\n"


@pytest.mark.parametrize("gone", ["a.afdo", "p_*_profile.txt"])
def test_a_profile_that_is_gone_is_told(trained: Kernel, tmp_path: Path, gone: str) -> None:
    for file in (tmp_path / "my profiles").glob(gone):
        file.unlink()
    with pytest.raises(UserError, match=r"which the kernel was built with, is no longer there"):
        write_flags(trained, tmp_path / "flags")
    assert not (tmp_path / "flags").exists()


def test_of_two_folders_in_one_shell_each_has_its_own(trained: Kernel, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write_flags(trained, one)
    write_flags(trained, other)
    script = '. "$1/flags.sh"; . "$2/flags.sh"; printf "%s\\n" "${KERNSMITH_MAKE[@]}"'
    words = ["bash", "-euc", script, "bash", str(one), str(other)]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert f"CLANG_AUTOFDO_PROFILE={other}/a.afdo\n" in said and str(one) not in said


def test_nothing_in_the_folder_names_a_path_of_this_machine(
    trained: Kernel, tmp_path: Path
) -> None:
    files = write_flags(trained, tmp_path / "flags")
    texts = [path.read_text() for path in files if path.suffix in (".md", ".sh", ".conf")]
    assert len(texts) == 3
    assert not any(str(tmp_path) in text or "/src" in text for text in texts)
    portage = (tmp_path / "flags/make.conf").read_text()
    assert 'CLANG_AUTOFDO_PROFILE="${KERNSMITH_FOLDER}/a.afdo"' in portage


def test_an_order_of_functions_goes_to_the_linker_with_its_other_words(
    tmp_path: Path,
) -> None:
    linker = "LD=ld.lld-22 --lto-O3"
    kernel = a_kernel(tmp_path, linker, reordered={"kernel": "2" * 64, "functions": 2})
    (kernel.folder / "order").write_text("vfs_read\nvfs_write\n")
    flags = build_flags(kernel)
    assert flags.variables["LD"] == (
        "ld.lld-22 --lto-O3 --symbol-ordering-file={folder}/order --no-warn-symbol-ordering"
    )
    write_flags(kernel, tmp_path / "flags")
    assert (tmp_path / "flags/order").read_text() == "vfs_read\nvfs_write\n"


def test_a_patch_of_an_older_source_comes_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.afdo").write_text("x")
    profile = f"CLANG_AUTOFDO_PROFILE={tmp_path}/a.afdo"
    write_flags(a_kernel(tmp_path, profile, patch="--- a/x\n+++ b/x\n"), tmp_path / "flags")
    assert (tmp_path / "flags/sections.patch").read_text() == "--- a/x\n+++ b/x\n"
    assert "`patch -p1 < sections.patch`" in (tmp_path / "flags/README.md").read_text()


def test_what_no_flags_tell_is_refused(tmp_path: Path) -> None:
    plain = a_kernel(tmp_path, "KCFLAGS=-ffunction-sections", "AWK=mawk")
    with pytest.raises(UserError, match="without a profile and without flags: there is nothing"):
        write_flags(plain, tmp_path / "flags")
    bolted = a_kernel(tmp_path, bolted={"kernel": "3" * 64})
    with pytest.raises(UserError, match="BOLT has rewritten the linked kernel"):
        write_flags(bolted, tmp_path / "flags")
    counted = a_kernel(tmp_path, f"KERNSMITH_PROFILE={tmp_path}/x.instrumented")
    with pytest.raises(UserError, match="there are no flags to export; take a kernel with autofdo"):
        write_flags(counted, tmp_path / "flags")
    assert not (tmp_path / "flags").exists()
