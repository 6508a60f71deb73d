# SPDX-License-Identifier: GPL-2.0-or-later
"""A study of a user's own files is the same study wherever they lie, and no row says where."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from kernsmith import paths
from kernsmith.engine import Silent, prepare
from kernsmith.engine.prepare import Prepared, study_digest
from kernsmith.engine.recorded import Asked, recorded_result
from kernsmith.engine.run import measure
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.ledger import Ledger
from kernsmith.ledger.schema import METADATA, RUNS
from kernsmith.ledger.table import read_study_table
from kernsmith.study import Design, Study
from scripted_machine import Made, Scripted, runs


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))


def own_files(folder: Path) -> Path:
    """A kernel tree, a config, a CPU model and an order of functions."""
    tree = folder / "linux"
    (tree / "include/asm-generic").mkdir(parents=True)
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\n")
    (tree / "Kconfig").write_text("config HZ\n")
    script = "#define TEXT_MAIN .text .text.[_0-9A-Za-z]*\n"
    (tree / "include/asm-generic/vmlinux.lds.h").write_text(script)
    (folder / "own.config").write_text("CONFIG_HZ=100\n")
    shutil.copy(paths.shipped("cpus", "skylake.toml"), folder / "own.toml")
    (folder / "an.order").write_text("vfs_read\n")
    return folder


def prepared(folder: Path) -> Prepared:
    study = Study(
        source=str(folder / "linux"),
        config=str(folder / "own.config"),
        cpu=str(folder / "own.toml"),
        factors=(("layout", ("random", f"order:{folder}/an.order+random")),),
        workloads=("pipe",),
        design=Design(layouts=1),
    )
    return prepare(study, Silent(), look_only=True)


def test_a_copy_of_all_files_gives_the_same_kernel_and_the_same_study(tmp_path: Path) -> None:
    here = prepared(own_files(tmp_path / "here"))
    there = prepared(shutil.copytree(tmp_path / "here", tmp_path / "there"))
    keys = [make_recipe(each.variants[0], each.source).key for each in (here, there)]
    assert keys[0] == keys[1]
    assert here.digest == there.digest


@pytest.mark.parametrize("name", ["linux/Kconfig", "own.config", "own.toml", "an.order"])
def test_another_content_is_another_study(tmp_path: Path, name: str) -> None:
    before = prepared(own_files(tmp_path)).digest
    with (tmp_path / name).open("a") as file:
        file.write("# more\n")
    assert prepared(tmp_path).digest != before


def test_files_that_share_a_name_are_told_by_as_much_of_their_path_as_it_takes(
    tmp_path: Path,
) -> None:
    for name in ("old", "new"):
        own_files(tmp_path / name)
    sources = tuple(f"{tmp_path}/{name}/linux" for name in ("old", "new"))
    study = Study(
        source=sources[0],
        config="micro",
        factors=(("source", sources),),
        workloads=("pipe",),
        design=Design(layouts=1),
    )
    found = prepare(study, Silent(), look_only=True)
    assert [each.name for each in found.variants] == ["source=old/linux", "source=new/linux"]
    assert [each.source for each in found.variants] == list(sources)


def digest_of_sources(*words: str, changed: str = "") -> str:
    """Of a study of these sources, one of which may have other content than usual."""
    study = Study(source=words[0], config="micro", factors=(("source", words),))
    sources = {
        word: Source("linux-7", Path("/x"), "7", f"git-tree:{number}{word == changed}", "here")
        for number, word in enumerate(words)
    }
    return study_digest(study, sources)


def test_each_of_two_revisions_of_a_repository_counts() -> None:
    words = ("git:/r/linux@master", "git:/r/linux@next")
    found = {digest_of_sources(*words, changed=changed) for changed in ("", *words)}
    assert len(found) == 3
    elsewhere = [word.replace("/r/", "/elsewhere/") for word in words]
    assert digest_of_sources(*elsewhere) == digest_of_sources(*words)


@pytest.mark.parametrize(
    ("words", "digest"),
    [
        (["/r/linux"], "e6f11b7953cb3779"),
        (["git:/r/linux@master"], "ea7d09c8530c25eb"),
        (["debian:7.3", "debian:6.12"], "e285d0870ae59581"),
        (["debian:7.3", "git:/r/linux@master"], "c5faf2e4db11e790"),
        (["git:/r/linux@a", "git:/s/linux@a"], "ce357f4cfecac5ed"),
    ],
)
def test_studies_with_one_source_of_a_folder_keep_the_digest_that_they_have_in_ledgers(
    words: list[str], digest: str
) -> None:
    """The digests are what commit db94cb8 gave."""
    assert digest_of_sources(*words).startswith(digest)


def test_no_row_says_where_the_files_lie(tmp_path: Path) -> None:
    """The report of such a study finds its variants by the recorded text all the same."""
    plan = prepared(own_files(tmp_path / "own"))
    machine = Scripted(tmp_path / "cache", exact=False)
    (machine.folder / "script.json").write_text(json.dumps({}))
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    ledger = Ledger(url)
    measure(replace(plan, machine=machine), Made(machine.folder), ledger, Silent())
    ledger.close()

    places = (str(tmp_path), "/opt/bin")
    with create_engine(url).connect() as connection:
        held = {
            f"{table.name}.{name}": value
            for table in METADATA.sorted_tables
            for row in connection.execute(table.select()).mappings()
            for name, value in row.items()
            if any(place in str(value) for place in places)
        }
    assert held == {}
    table = read_study_table(plan.study.name, url)
    assert {(row.trial.machine, row.trial.cpu) for row in table.plan} == {("tcg", "own.toml")}
    found = recorded_result(table, Asked()).prepared
    assert [each.name for each in found.variants] == [each.name for each in plan.variants]
    assert [each.levels for each in found.variants] == [each.levels for each in plan.variants]


def test_ledgers_that_lie_at_the_same_place_of_two_hosts_share_a_store(tmp_path: Path) -> None:
    """Neither writes into the other's consoles, though both count their attempts from 1."""
    (tmp_path / "script.json").write_text(json.dumps({}))
    machine, design = Scripted(tmp_path, slots=1), Design(layouts=0)
    consoles = []
    for host in ("one", "another"):
        runs(machine, f"sqlite:///{tmp_path}/ledger.sqlite", design)
        with create_engine(f"sqlite:///{tmp_path}/ledger.sqlite").connect() as connection:
            consoles.append(set(connection.execute(select(RUNS.c.console)).scalars()))
        (tmp_path / "ledger.sqlite").rename(tmp_path / host)
    assert len(consoles[0]) == len(consoles[1]) == 6
    assert not consoles[0] & consoles[1]
    assert all(console.startswith("runs/") for console in consoles[0])
