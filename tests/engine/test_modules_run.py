# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules in the guest, on real kernels: loaded, counted, trained on and compiled with the profile.

It costs two builds of the config `modules`. An ordinary test run takes part in it when they are
there; `make test-all` builds them.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL, kept_kernel
from kernsmith.guest import build_layer, module_loader
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel, file_digest, named_kernel
from kernsmith.kernel.kbuild import command_in
from kernsmith.kernel.make import build_environment
from kernsmith.kernel.module_code import code_spans
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.process import run
from kernsmith.profile import read_counts
from kernsmith.study import Study, plan_variants

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("modules")]

STUDY = """
[source]
use = "debian:7.3"
config = "modules"
[workloads]
use = ["afalg-cipher", "pipe"]
[factors]
profile = ["none", "autofdo"]
[design]
layouts = 2
"""
LOADED = (
    "algif_skcipher", "camellia_generic", "serpent_generic", "twofish_common", "twofish_generic",
)  # fmt: skip
EXTERNAL = """\
#include <linux/init.h>
#include <linux/module.h>

static int __init greet(void)
{
	pr_info("greeting\\n");
	return 0;
}

module_init(greet);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("says something");
"""
CLANG = find_toolchain()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("modules")
    study = folder / "study.toml"
    study.write_text(STUDY)
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    if not os.environ.get(ALL) and not all(build["cached"] for build in plan["builds"]):
        pytest.skip("two kernels are not built yet: it takes minutes, and make test-all does it")
    found: dict[str, Any] = json.loads(kernsmith(folder, "run", str(study), "--json").stdout)
    return found


@pytest.fixture(scope="module")
def kernels(document: dict[str, Any]) -> tuple[Kernel, Kernel]:
    first, second = (named_kernel(each["vmlinux"]) for each in document["variants"])
    return first, second


def boot(kernel: Kernel, folder: Path, archive: Path | None = None) -> Outcome:
    workload = load_catalogue().select(["afalg-cipher"])[0]
    job = Job(workload, folder, modules=archive or kernel.guest_archive)
    return run_once(open_machine("skylake"), kernel.vmlinux, job)


def test_both_kernels_load_their_modules_in_every_boot(
    document: dict[str, Any], kernels: tuple[Kernel, Kernel]
) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    for kernel in kernels:
        assert set(kernel.modules) == set(LOADED)
        assert kernel.modules.index("twofish_common") < kernel.modules.index("twofish_generic")


def test_two_boots_are_equal_and_modules_are_at_equal_places(
    kernels: tuple[Kernel, Kernel], tmp_path: Path
) -> None:
    for kernel in kernels:
        first, second = (boot(kernel, tmp_path / f"{kernel.key[:8]}-{n}") for n in (1, 2))
        assert first.ok, first.reason
        assert first.metrics == second.metrics
        assert first.modules == second.modules
        assert set(code_spans(kernel, first.modules)) == set(LOADED)


def test_functions_of_modules_are_in_the_profile_and_among_the_hottest(
    document: dict[str, Any], kernels: tuple[Kernel, Kernel]
) -> None:
    hottest = [each["name"] for each in document["hottest"]["functions"]]
    assert {name.partition("[")[2] for name in hottest if "[" in name} >= {
        "camellia_generic]",
        "serpent_generic]",
    }
    counts = read_counts(Path(document["hottest"]["counts"]))
    assert counts.build_id == kernels[0].build_id
    assert set(counts.modules) == set(LOADED)
    profile = document["variants"][1]["profile"]
    shown = run([CLANG.tool("llvm-profdata"), "show", "--sample", profile], timeout=60).output
    for name in ("camellia_encrypt", "__serpent_encrypt", "twofish_encrypt", "vfs_read"):
        assert f"Function: {name}:" in shown


def test_costs_are_told_by_functions_of_modules(document: dict[str, Any]) -> None:
    attribution = json.dumps(document["attributions"])
    assert "__serpent_encrypt [serpent_generic]" in attribution


def test_modules_are_compiled_with_the_profile_and_hot_code_lies_together(
    kernels: tuple[Kernel, Kernel],
) -> None:
    plain, trained = kernels
    for name in ("algif_skcipher", "camellia_generic", "serpent_generic"):
        digests = {file_digest(kernel.folder / f"modules/{name}.ko") for kernel in kernels}
        assert len(digests) == 2, name
    # Keys are set before the region: nothing of it ran.
    idle = {file_digest(kernel.output / "crypto/twofish_common.o") for kernel in kernels}
    assert len(idle) == 1
    command = (trained.output / "crypto/.camellia_generic.o.cmd").read_text()
    assert "-fprofile-sample-use=" in command
    assert (
        "-fprofile-sample-use=" not in (plain.output / "crypto/.camellia_generic.o.cmd").read_text()
    )
    sections = run(
        [
            CLANG.tool("llvm-readelf"),
            "--sections",
            "--wide",
            trained.output / "crypto/serpent_generic.o",
        ],
        timeout=60,
    ).output
    assert ".text.hot.__serpent_encrypt" in sections


def test_a_module_that_the_kernel_refuses_is_told(
    kernels: tuple[Kernel, Kernel], tmp_path: Path
) -> None:
    kernel = kernels[0]
    files = {"list": b"twofish_generic\n"}
    files["twofish_generic.ko"] = (kernel.folder / "modules/twofish_generic.ko").read_bytes()
    archive = tmp_path / "without.cpio"
    archive.write_bytes(build_layer("modules", {"load": module_loader().read_bytes()}, files))
    outcome = boot(kernel, tmp_path / "boot", archive)
    assert outcome.status == "failed"
    assert outcome.reason.startswith(
        "the kernel's modules were not loaded: load of twofish_generic: No such file"
    )
    assert "twofish_generic: Unknown symbol" in outcome.reason


def external(kernel: Kernel, folder: Path, *words: str) -> str:
    """Build a module against a kernel as its user would, with no word of the profile."""
    folder.mkdir()
    (folder / "greeting.c").write_text(EXTERNAL)
    (folder / "Makefile").write_text("obj-m := greeting.o\n")
    command = ["make", "-C", kernel.output, f"M={folder}", *words, "modules"]
    environment = build_environment(CLANG.compilers)
    return run(command, timeout=300, env=environment, check=False).output


def test_an_external_module_is_built_against_the_trained_kernel_and_loaded(
    kernels: tuple[Kernel, Kernel], tmp_path: Path
) -> None:
    kernel = kernels[1]
    words = [
        word for word in command_in(kernel, kernel.folder) if word.startswith(("LLVM=", "LD="))
    ]
    said = external(kernel, tmp_path / "clang", *words, f"CC={CLANG.compiler.program}")
    module = tmp_path / "clang/greeting.ko"
    assert module.exists(), said
    assert "profile-sample-use" not in (tmp_path / "clang/.greeting.o.cmd").read_text()
    names = [*kernel.modules, "greeting"]
    files = {
        f"{name}.ko": (kernel.folder / f"modules/{name}.ko").read_bytes() for name in names[:-1]
    }
    files |= {"greeting.ko": module.read_bytes(), "list": "\n".join(names).encode() + b"\n"}
    archive = tmp_path / "with.cpio"
    archive.write_bytes(build_layer("modules", {"load": module_loader().read_bytes()}, files))
    outcome = boot(kernel, tmp_path / "boot", archive)
    assert outcome.ok, outcome.reason
    assert "greeting" in outcome.modules


@pytest.fixture(scope="module")
def on_demand(source: Source) -> Kernel:
    """All modules of the config `modules`, none of which is loaded before somebody wants it."""
    factors = (("modules", ("installed", "none")),)
    study = Study(source="debian:7.3", config="modules", factors=factors)
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))


def test_a_module_is_loaded_when_somebody_wants_it(on_demand: Kernel, tmp_path: Path) -> None:
    """A kind of socket, and each cipher by its name; what nobody wants stays out."""
    first, second = (boot(on_demand, tmp_path / name) for name in ("first", "second"))
    assert first.ok, first.reason
    assert first.metrics == second.metrics
    assert first.modules == second.modules
    assert set(first.modules) == set(on_demand.modules) == set(LOADED)
    spans = code_spans(on_demand, first.modules)
    assert set(spans) == set(first.modules)
    workload = load_catalogue().select(["pipe"])[0]
    job = Job(workload, tmp_path / "pipe", modules=on_demand.guest_archive)
    quiet = run_once(open_machine("skylake"), on_demand.vmlinux, job)
    assert quiet.ok and not quiet.modules


@pytest.fixture(scope="module")
def rooted(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The config `root` with what a file system on a loop device needs as modules."""
    config = tmp_path_factory.mktemp("rooted") / "rooted.config"
    symbols = ("BLK_DEV_LOOP", "CRYPTO_CAMELLIA", "CRYPTO_SERPENT", "CRYPTO_TWOFISH")
    symbols = (*symbols, "CRYPTO_USER_API_SKCIPHER", "EXT4_FS")
    lines = "".join(f"CONFIG_{symbol}=m\n" for symbol in symbols)
    config.write_text(f"# over root\nCONFIG_MODULES=y\n{lines}")
    factors = (("modules", ("installed", "none")),)
    study = Study(source="debian:7.3", config=str(config), factors=factors)
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))


def test_a_root_file_system_has_the_modules_above_it(rooted: Kernel, tmp_path: Path) -> None:
    """mount(8) opens /dev/loop-control, which is there before its driver, and mounts an ext4."""
    (workload,) = load_catalogue().including(["sqlite-ext4"]).select(["sqlite-ext4"])
    first, second = (
        run_once(
            open_machine("skylake"),
            rooted.vmlinux,
            Job(workload, tmp_path / name, modules=rooted.guest_archive),
        )
        for name in ("first", "second")
    )
    assert first.ok, first.reason
    assert {"ext4", "jbd2", "loop"} <= set(first.modules) < set(rooted.modules)
    assert (first.metrics, first.modules) == (second.metrics, second.modules)
