# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith silicon`: bad input is one sentence, before anything is fetched or compiled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest

from kernsmith import paths
from kernsmith.cli import main
from kernsmith.cli.silicon import tell_times
from kernsmith.engine import Silent
from kernsmith.engine.silicon import (
    Bench,
    Row,
    Simulated,
    _known_together,
    measure,
    read_rows,
)
from kernsmith.errors import UserError
from kernsmith.machine.held import read_held
from kernsmith.report.silicon import in_view_sentence
from kernsmith.silicon.binaries import Binary
from kernsmith.silicon.builds import find_builds
from kernsmith.silicon.timing import Timed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--program", "emacs"], "there is no program 'emacs': allowed are lua, mix"),
        (["--build", "O9"], "there is no build 'O9': allowed are O2, O1"),
        (["--order", "best"], "there is no order 'best': allowed are hot-first, density"),
        (["--runs", "2"], "silicon needs --runs 4 or more"),
        (["--patience", "-1"], "--patience is 0 seconds or more, not -1"),
        (["--cpu", "abacus"], "there is no cpu model 'abacus': allowed are"),
    ],
)
def test_what_does_not_exist_is_said(
    words: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["silicon", *words])
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


def test_another_table_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "times.csv"
    table.write_text("build,layout\nO2,default\n")
    with pytest.raises(UserError, match="is no table of `kernsmith silicon`"):
        read_rows(table)
    columns = "program,build,layout,digest,runs,alone,cycles,first_half,second_half"
    table.write_text(f"{columns}\nlua,O2,default,abc,many,1,1,1,1\n")
    with pytest.raises(UserError, match="line 2: invalid literal"):
        read_rows(table)
    table.write_text(f"{columns}\nlua,O2,default,abc,25,20,1e8,1.1e8,1.2e8\n")
    assert [(row.alone, row.cycles) for row in read_rows(table)] == [(20, 1e8)]
    table.write_text(f"{columns}\nlua,O2,default,abc,25,25,nan,1,1\n")
    with pytest.raises(UserError, match="line 2: cycles are more than 0, not 'nan'"):
        read_rows(table)


def test_a_table_that_does_not_tell_whether_the_core_was_shared_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "times.csv"
    table.write_text("program,build,layout,digest,runs,cycles,first_half,second_half\n")
    with pytest.raises(UserError, match="did not ask whether a neighbour shared the core"):
        read_rows(table)


def test_times_of_two_days_are_not_mixed() -> None:
    def row(program: str, digest: str, cycles: float, runs: int = 25) -> Row:
        return Row(program, "O2", digest, digest, runs, runs, cycles, cycles, cycles)

    first = [row("lua", "a", 10), row("lua", "b", 11), row("lua", "c", 12)]
    # What else ran that day made all of them slower.
    second = [row("lua", "a", 15), row("lua", "d", 16), row("tcc", "e", 1, runs=5)]

    def known(digests: str, runs: int = 25) -> dict[str, float]:
        found = _known_together([*first, *second], set(digests), runs)
        return {digest: found[digest].cycles for digest in digests if found}

    assert known("ab") == {"a": 10, "b": 11}
    assert known("ad") == {"a": 15, "d": 16}
    assert known("a") == {"a": 15}, "the latest"
    assert known("bd") == {}, "never timed together"
    assert known("e") == {}, "not often enough"
    assert known("e", runs=5) == {"e": 1}
    assert _known_together([], {"a"}, 1) == {}


def test_a_table_is_read_before_anything_is_compiled(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernsmith.engine.silicon.make_binaries", None)
    table = tmp_path / "times.csv"
    table.write_bytes(bytes(range(256)))
    with pytest.raises(SystemExit) as ended:
        main(["silicon", "--program", "lua", "--times", "--measured", str(table)])
    assert ended.value.code == 2
    assert f"cannot read the table {table}: it is no text in UTF-8" in capfd.readouterr().err


def test_times_alone_are_a_table_of_builds(capsys: pytest.CaptureFixture[str]) -> None:
    took = {"O2": (100.0, 104.0, 96.0), "Os": (103.0, 108.0, 99.0)}
    layouts = ("default", "random:1", "random:2")
    rows = [
        Row("lua", build, layout, f"{build}-{layout}", 25, 25, cycles, cycles, cycles)
        for build, all_of in took.items()
        for layout, cycles in zip(layouts, all_of, strict=True)
    ]
    assert tell_times(rows, 25, json=True) == 0
    (told,) = json.loads(capsys.readouterr().out)["builds"]
    assert (told["group"], told["build"], told["default"]) == ("lua", "Os", 1.03)
    assert told["effect"]["ratio"] == pytest.approx((108 / 104 * 99 / 96) ** 0.5)
    assert tell_times(rows, 25, json=False) == 0
    assert "1.0300" in capsys.readouterr().out


def test_times_that_do_not_tell_layouts_apart_are_called_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the halves of the runs: equal ones, and such as have another order in each half."""
    draw = np.random.default_rng(1)
    halves = [100 + draw.normal(0, 1, 12), 100 + draw.normal(0, 1, 12)]
    for first, second, noisy in ((halves[0], halves[0], False), (*halves, True)):
        rows = [
            Row("lua", "O2", f"random:{at}", f"{at}", 25, 25, (one + other) / 2, one, other)
            for at, (one, other) in enumerate(zip(first, second, strict=True))
        ]
        assert tell_times(rows, 25, json=False) == 0
        assert ("too noisy to tell layouts apart" in capsys.readouterr().out) == noisy


def test_a_busy_machine_is_told_before_it_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Notes(Silent):
        def note(self, text: str, share: float | None = None) -> None:
            told.append(text)

    binaries = Binaries(tmp_path)
    monkeypatch.setattr("kernsmith.engine.silicon.make_binaries", binaries.make)
    monkeypatch.setattr("kernsmith.engine.silicon.time_binaries", binaries.time)
    bench = Bench(("lua",), find_builds(["O2"]), 0, 0, 4)
    for load, words in ((0.2, []), (3.14, ["this machine is busy (load 3.1): times will be n"])):
        told: list[str] = []
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, load, load))
        measure(bench, tmp_path / "times.csv", Notes())
        assert [text[:48] for text in told] == words


def test_programs_that_calibrated_the_model_do_not_judge_it() -> None:
    held = read_held(paths.shipped("cpus/zen3.toml"))
    said = in_view_sentence("zen3", held, ["lua", "perl", "tcc"])
    assert said.startswith("lua, tcc calibrated zen3 or were in view when it was made, so these do")
    assert "off by 1.4 percentage points on average, 3.5 at worst" in said
    assert not in_view_sentence("zen3", held, ["perl", "uml"])
    assert not in_view_sentence("zen5", None, ["lua"])


def test_orders_stand_beside_builds_and_are_no_layouts_to_compare_builds_by(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cycles = {"default": 100.0, "random:1": 110.0, "order:lld cdsort": 90.0}
    rows = [
        Row("lua", build, layout, f"{build}-{layout}", 25, 25, by * took, by * took, by * took)
        for build, by in (("O2", 1.0), ("Os", 1.1))
        for layout, took in cycles.items()
    ]
    assert tell_times(rows, 25, json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["builds"][0]["effect"]["n"] == 1
    orders = [(one["build"], one["order"], round(one["ratio"], 6)) for one in told["orders"]]
    assert orders == [
        ("O2", "lld cdsort", 0.9), ("O2", "random", 1.1),
        ("Os", "lld cdsort", 0.9), ("Os", "random", 1.1),
    ]  # fmt: skip
    assert tell_times(rows, 25, json=False) == 0
    assert "lld cdsort" in capsys.readouterr().out


class Notes(Silent):
    """What is noted."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, share: float | None = None) -> None:
        self.notes.append(text)


class Binaries:
    """Stands in for compilers and this processor: of equal flags, equal files."""

    def __init__(self, folder: Path, disturbed: float = 0.0) -> None:
        self.folder = folder
        self.disturbed = disturbed
        self.timed: list[str] = []

    def make(self, bench: Bench, program: str, events: object) -> list[Binary]:
        made = []
        for build in bench.builds:
            path = self.folder / f"{build.name}.elf"
            path.write_text(" ".join(build.flags))
            made.append(Binary(program, build.name, "default", path))
        return made

    def time(
        self, binaries: Sequence[Binary], runs: int, told: object, cores: object
    ) -> list[Timed]:
        self.timed += [binary.build for binary in binaries]
        units = np.full((runs, 2), 100.0)
        units[1:] *= 1 + self.disturbed
        return [Timed(each, units, "", runs) for each in binaries]


def test_builds_that_are_one_binary_are_timed_once_and_told_by_their_own_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries, table = Binaries(tmp_path), tmp_path / "times.csv"
    monkeypatch.setattr("kernsmith.engine.silicon.make_binaries", binaries.make)
    monkeypatch.setattr("kernsmith.engine.silicon.time_binaries", binaries.time)

    def told(name: str, flags: str) -> list[tuple[str, float]]:
        bench = Bench(("lua",), find_builds([f"{name}={flags}"]), 0, 0, 4)
        rows, _ = measure(bench, table, Silent())
        return [(row.build, row.cycles) for row in rows]

    for _ in range(2):
        assert told("control", "-O2") == [("O2", 200.0), ("control", 200.0)]
    assert len(binaries.timed) == 1
    assert told("small", "-Os") == [("O2", 200.0), ("small", 200.0)]
    timed = len(binaries.timed)
    assert told("little", "-Os") == [("O2", 200.0), ("little", 200.0)]
    assert len(binaries.timed) == timed


@pytest.mark.parametrize(("disturbed", "told"), [(0.02, 0), (0.12, 1)])
def test_what_makes_most_runs_longer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disturbed: float, told: int
) -> None:
    binaries, events = Binaries(tmp_path, disturbed), Notes()
    monkeypatch.setattr("kernsmith.engine.silicon.make_binaries", binaries.make)
    monkeypatch.setattr("kernsmith.engine.silicon.time_binaries", binaries.time)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    bench = Bench(("lua",), find_builds(["O2"]), 0, 0, 4)
    (row,), _ = measure(bench, tmp_path / "times.csv", events)
    assert row.cycles == 200
    assert len(events.notes) == told
    assert all("4 runs 12% longer than what nothing disturbed" in note for note in events.notes)


def test_what_no_figure_can_be_given_for_is_null(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One build in two layouts: no build to compare, and no correlation."""
    binaries = [Binary("lua", "O2", name, tmp_path / name) for name in ("default", "random:1")]
    rows = [Row("lua", "O2", each.layout, each.layout, 25, 25, 1e8, 1e8, 1e8) for each in binaries]
    figures = {row.digest: Simulated({"model_cycles": 1e8}, None) for row in rows}
    engine = "kernsmith.engine.silicon"
    monkeypatch.setattr(f"{engine}.measure", lambda *_: (rows, {"lua": binaries}))
    monkeypatch.setattr(f"{engine}.guest_kernel", lambda *_: tmp_path)
    monkeypatch.setattr(f"{engine}.simulated", lambda *_: figures)
    monkeypatch.setattr("kernsmith.silicon.timing.check_clock", lambda: None)
    with pytest.raises(SystemExit) as ended:
        main(["silicon", "--program", "lua", "--cpu", "zen5", "--json"])
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["mean_error"], found["rank_correlation"]) == (None, None)
    assert tell_times([replace(row, cycles=nan) for row in rows], 25, json=True) == 0
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
