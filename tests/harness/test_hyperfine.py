# SPDX-License-Identifier: GPL-2.0-or-later
"""hyperfine's JSON."""

import json

from harness_files import FOLDER, read, values

from kernsmith.harness import Asked


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
