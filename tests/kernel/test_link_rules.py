# SPDX-License-Identifier: GPL-2.0-or-later
"""Links done in another way: small programs, and a real kernel's objects, linked and booted."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernsmith.cli.delegate import report
from kernsmith.errors import UserError
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.compile_cache import through_cache, write_compiler
from kernsmith.kernel.link import LinkFailed, relink
from kernsmith.kernel.link_rules import WORD, link_rules_text, write_link_rules
from kernsmith.kernel.mixed import objects_of
from kernsmith.kernel.symbols import read_system_map
from kernsmith.kernel.taken_objects import read_linked
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.paths import shipped
from kernsmith.study.links import LinkRule

DELEGATE = str(shipped("target/release/kernsmith-compiler"))
FIRST = "fs/pipe.o"
PROGRAMS = {
    "a": "int b(void); int c(void); int a(void) { return b() + c(); }",
    "b": "int b(void) { return 1; }",
    "c": "int c(void) { return 2; }",
}


class Objects:
    """A folder with objects, an archive of them as kbuild's, and a linker script."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name, text in PROGRAMS.items():
            (path / f"{name}.c").write_text(text)
            self._run("gcc", "-c", "-o", f"{name}.o", f"{name}.c")
        self._run("ar", "cDPrST", "vmlinux.a", *(f"{name}.o" for name in PROGRAMS))
        (path / "x.lds").write_text("SECTIONS { .text : { *(.text) } /DISCARD/ : { *(.note*) } }")

    def _run(self, *words: str) -> str:
        return subprocess.run(
            words, cwd=self.path, check=True, capture_output=True, text=True
        ).stdout

    def environment(self, *rules: LinkRule) -> dict[str, str]:
        file = self.path / "rules"
        file.write_text(link_rules_text(rules))
        return {**os.environ, "KERNSMITH_LINKS": str(file)}

    def link(
        self, *rules: LinkRule, target: str = "vmlinux", words: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        words = words or ("--script=x.lds", "--whole-archive", "vmlinux.a")
        return subprocess.run(
            [DELEGATE, WORD, "ld.bfd", "-o", target, *words], cwd=self.path,
            env=self.environment(*rules), capture_output=True, text=True, check=False,
        )  # fmt: skip

    def symbols(self, name: str = "vmlinux") -> list[str]:
        """Functions, by address."""
        return [line.split()[2] for line in self._run("nm", "-n", name).splitlines()]

    def address(self, symbol: str) -> int:
        lines = self._run("nm", "vmlinux").splitlines()
        return next(int(line.split()[0], 16) for line in lines if line.endswith(f" {symbol}"))

    def left(self) -> set[str]:
        own = {f"{name}.{end}" for name in PROGRAMS for end in "co"}
        return {path.name for path in self.path.iterdir()} - own - {"vmlinux.a", "x.lds", "rules"}


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path)


def steps(*steps: str) -> LinkRule:
    return LinkRule(("vmlinux",), steps=steps)


def test_objects_are_linked_in_another_order(objects: Objects) -> None:
    assert objects.link().returncode == 0
    assert objects.symbols() == ["a", "b", "c"]
    assert objects.link(steps("first=c.o")).returncode == 0
    assert objects.symbols() == ["c", "a", "b"]
    assert objects.left() == {"vmlinux"}


def test_a_section_is_aligned_by_the_linker_script(objects: Objects) -> None:
    script = "SECTIONS { . = 4096; .text : { *(.text) } /DISCARD/ : { *(.note*) } }"
    (objects.path / "x.lds").write_text(script)
    assert objects.link().returncode == 0
    assert objects.address("a") == 4096
    assert objects.link(steps("align=.text:65536")).returncode == 0
    assert objects.address("a") == 65536


def test_other_linkers_are_for_modules_and_objects_of_several(objects: Objects) -> None:
    """Only lld knows what they are told."""
    rule, lld = LinkRule(("modules", "relocatable"), "lld"), "--no-warn-symbol-ordering"
    for target in ("x.ko", "y.o"):
        words = ("-r", lld, "a.o", "b.o")
        assert objects.link(target=target, words=words).returncode
        assert objects.link(rule, target=target, words=words).returncode == 0
        assert (objects.path / target).exists()
    linked = read_linked(objects.path / "rules")
    assert list(linked) == ["x.ko", "y.o"]
    assert all("lld" in linker for linker in linked.values())
    assert objects.link(rule, words=("--script=x.lds", lld, "a.o", "b.o", "c.o")).returncode


def test_the_report_tells_what_other_linkers_have_linked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "x.links"
    with pytest.raises(UserError, match="there is no file of rules"):
        report(str(rules))
    rules.touch()
    with pytest.raises(UserError, match="nothing of it went to another compiler or linker"):
        report(str(rules))
    noted = "fs/a.ko\tld.lld\nfs/b.ko\tld.bfd\nfs/a.ko\tld.bfd\nfs/c.o\tld.lld\n"
    rules.with_suffix(".linked").write_text(noted)
    report(str(rules))
    printed = capsys.readouterr().out
    assert re.search(r"ld.bfd\s\W*2\W+fs/a.ko, fs/b.ko", printed)
    report(str(rules), json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["linked"] == {"fs/a.ko": "ld.bfd", "fs/b.ko": "ld.bfd", "fs/c.o": "ld.lld"}
    rules.with_suffix(".linked").write_text("fs/a.ko ld.bfd\n")
    with pytest.raises(UserError, match="none of its own"):
        report(str(rules))


def test_programs_of_the_users_change_order_and_script(objects: Objects) -> None:
    order, script = objects.path / "order", objects.path / "script"
    order.write_text("#!/bin/sh\nsort -r\n")
    script.write_text("#!/bin/sh\nsed 's/SECTIONS {/& . = 0x7000;/'\n")
    for program in (order, script):
        program.chmod(0o755)
    done = objects.link(steps(f"order:{order}", f"script:{script}"))
    assert done.returncode == 0, done.stderr
    assert objects.symbols() == ["c", "b", "a"]
    assert objects.address("c") == 0x7000


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo wrong >&2; exit 3", "exit status: 3:\n    wrong"),
        ("cat > /dev/null", "it wrote nothing"),
        ("head -1", "b.o is not in it any more"),
        ("cat; echo /etc/passwd", '"/etc/passwd" is no object of the kernel'),
        ("cat; cat <<< a.o", "an object is in it twice"),
    ],
)
def test_a_step_that_goes_wrong_is_told(script: str, told: str, objects: Objects) -> None:
    program = objects.path / "order"
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)
    done = objects.link(steps(f"order:{program}"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: vmlinux: step")
    assert told in done.stderr
    assert not (objects.path / "vmlinux").exists()


def test_a_section_that_the_script_does_not_gather_is_told(objects: Objects) -> None:
    done = objects.link(steps("align=.text.hot:64"))
    assert done.returncode == 1
    assert "the linker script has no *(.text.hot …)" in done.stderr
    assert ".vmlinux.step.lds" in done.stderr
    assert (objects.path / ".vmlinux.step.lds").read_text().startswith("SECTIONS")


def test_one_object_of_all_has_no_order(objects: Objects) -> None:
    words = ("--script=x.lds", "a.o", "b.o", "c.o")
    done = objects.link(steps("first=c.o"), words=words)
    assert done.returncode == 1
    assert "error: vmlinux: vmlinux.a is not linked, and its objects have no order" in done.stderr
    assert "CONFIG_X86_KERNEL_IBT" in done.stderr
    assert objects.link(steps("align=.text:64"), words=words).returncode == 0, (
        "that is the script's"
    )


def test_a_linker_that_is_killed_leaves_no_half_file(objects: Objects) -> None:
    assert objects.link(steps("first=c.o")).returncode == 0
    before = (objects.path / "vmlinux").read_bytes()
    slow = objects.path / "slow"
    slow.write_text('#!/bin/sh\nld.bfd "$@" && touch began && exec sleep 60\n')
    slow.chmod(0o755)
    victim = subprocess.Popen(
        [DELEGATE, WORD, str(slow), "-o", "vmlinux", "--script=x.lds", "a.o", "b.o", "c.o"],
        cwd=objects.path, env=objects.environment(LinkRule(("vmlinux",))), start_new_session=True,
    )  # fmt: skip
    while not (objects.path / "began").exists():
        assert victim.poll() is None
        time.sleep(0.01)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert (objects.path / "vmlinux").read_bytes() == before


def test_the_command_gives_make_its_linker(objects: Objects) -> None:
    command = [sys.executable, "-m", "kernsmith", "delegate", "ld", "ld.bfd", "--print"]
    environment = {**os.environ, "KERNSMITH_CACHE": str(objects.path / "cache")}
    told = subprocess.run(
        [*command, "--step", "first=c.o"], env=environment, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    makefile = "vmlinux: vmlinux.a\n\t$(LD) -o $@ --script=x.lds --whole-archive $<\n"
    (objects.path / "Makefile").write_text(makefile)
    subprocess.run(["make", f"LD={told.strip()}"], cwd=objects.path, check=True)
    assert objects.symbols() == ["c", "a", "b"]


def relinked(kernel: Kernel, folder: Path, *steps: str) -> Path:
    """A kernel's objects linked by its own rules, through steps."""
    folder.mkdir()
    write_compiler(folder, (kernel.output / "source").resolve())
    write_link_rules(folder, [LinkRule(("vmlinux",), steps=steps)])
    (folder / "out").symlink_to(kernel.output)
    (folder / "config").write_bytes((kernel.folder / "config").read_bytes())
    noted = (kernel.folder / "link.env").read_text().split("\0")
    linker = next(entry for entry in noted if entry.startswith("LD="))
    delegated = f"LD={through_cache(folder, WORD)} {linker.removeprefix('LD=')}"
    own = [delegated if entry == linker else entry for entry in noted]
    (folder / "link.env").write_text("\0".join(own))
    return relink(Kernel("f" * 64, folder, kernel.provenance), "stepped", [])


@pytest.mark.kernel
def test_a_real_kernel_linked_through_steps_boots(micro_kernel: Kernel, tmp_path: Path) -> None:
    """kbuild's script makes its tables of symbols of what the delegate has linked."""
    folder = tmp_path / "kernel"
    image = relinked(micro_kernel, folder, f"first={FIRST}", "align=.text:65536")
    symbols = {each.name: each.address for each in read_system_map(image.with_name("System.map"))}
    before = {each.name: each.address for each in read_system_map(micro_kernel.system_map)}
    assert symbols["anon_pipe_read"] - symbols["__hot_text_end"] < 65536 + 8192
    assert symbols["anon_pipe_read"] < symbols["kernel_clone"] > before["kernel_clone"]
    assert before["anon_pipe_read"] > before["kernel_clone"]
    assert objects_of(micro_kernel)[0] != FIRST
    (some,) = load_catalogue().select(["pipe"])
    ran = run_once(open_machine("skylake"), image, Job(some, tmp_path / "run"))
    assert ran.ok, ran.reason


@pytest.mark.kernel
def test_an_order_without_its_objects_does_not_link(micro_kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(LinkFailed, match=r"no object is called net/ipv9/\*\.o"):
        relinked(micro_kernel, tmp_path / "kernel", "first=net/ipv9/*.o")
