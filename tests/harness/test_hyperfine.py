# SPDX-License-Identifier: GPL-2.0-or-later
"""hyperfine's JSON."""

import json
from pathlib import Path

from harness_files import FOLDER, read, values

from kernsmith.harness import Asked, read_harness


def test_commands_are_compared_by_their_runs() -> None:
    written = json.loads((FOLDER / "hyperfine.json").read_text())["results"]
    found = read("hyperfine.json")
    assert (found.value, found.better, found.by) == ("seconds", "lower", ("command",))
    assert values(found) == {None: {each["command"]: each["times"] for each in written}}
    assert found.reading.order_known, "hyperfine runs one command after another"


def test_parameters_are_labels_and_failed_runs_are_told() -> None:
    found = read("hyperfine-scan.json", asked=Asked(by=("size",)))
    groups = [list(stratum) for stratum in values(found).values()]
    assert groups == [["1"], ["3"]], "a command is never taken for another"
    assert (
        found.reading.notes[1] == "runs that ended with an error, which count like all others: 10"
    )


def test_two_exports_are_compared_command_by_command() -> None:
    found = read("hyperfine.json", "hyperfine-scan.json")
    assert found.by == ("file",)
    assert "command=grep -c a /etc/services" in values(found)


def _exported(tmp_path: Path, *results: dict[str, object]) -> Path:
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"results": list(results)}))
    return file


def test_a_command_that_was_measured_twice_is_two_groups(tmp_path: Path) -> None:
    file = _exported(tmp_path, {"command": "a", "times": [1]}, {"command": "a", "times": [9]})
    found = read_harness([file], Asked())
    assert found is not None
    assert values(found) == {None: {"a": [1], "a (2)": [9]}}
    assert found.reading.notes[1] == "'a' was measured several times: the later ones have a number"


def test_parameters_that_the_command_does_not_show_keep_its_runs_apart(tmp_path: Path) -> None:
    results = [{"command": "a", "times": [n], "parameters": {"threads": n}} for n in (1, 2)]
    found = read_harness([_exported(tmp_path, *results)], Asked())
    assert found is not None
    assert values(found) == {"threads=1": {"a": [1]}, "threads=2": {"a": [2]}}
    compared = read_harness([_exported(tmp_path, *results)], Asked(by=("threads",)))
    assert compared is not None
    assert values(compared) == {"command=a": {"1": [1], "2": [2]}}


def test_a_parameter_called_command_is_not_the_command(tmp_path: Path) -> None:
    results = [
        {"command": name, "times": [n], "parameters": {"command": "x"}}
        for n, name in ((1, "a"), (2, "b"))
    ]
    found = read_harness([_exported(tmp_path, *results)], Asked())
    assert found is not None
    assert values(found) == {None: {"a": [1], "b": [2]}}
    assert read_harness([_exported(tmp_path, *results)], Asked(by=("command (parameter)",)))
