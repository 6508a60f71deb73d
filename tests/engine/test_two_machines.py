# SPDX-License-Identifier: GPL-2.0-or-later
"""A study on two machines in every form, on made-up figures whose answer is known."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console
from test_verdicts import OPTIMIZE, Figure, judged, layout_noise

from kernsmith.document import StudyDocument
from kernsmith.document.text import as_json, read_document, schema
from kernsmith.engine import Silent
from kernsmith.engine.forge import Forge
from kernsmith.engine.verdicts import StudyResult, judge
from kernsmith.machine import find_machine
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.report.study.pair import pair_document
from kernsmith.report.study.terminal import print_study
from kernsmith.study.machines import on_each_machine
from kernsmith.study.study import Place

BOTH = replace(OPTIMIZE, beside=(Place("kvm", "", (("accel", "tcg"),)),))


def real(figure: Figure) -> StudyResult:
    """The second machine's result. Its figures have another name and another unit."""
    study = on_each_machine(BOTH)[1]
    found = judged(study, figure)
    machine = find_machine("kvm", "", {"accel": "tcg"})
    prepared = replace(found.prepared, machine=machine)
    absent = {"absent": {"kernel_cycles": "there is no PMU, or it has no such event"}}
    runs = [
        replace(
            each,
            run=each.run
            and replace(
                each.run,
                metrics={"reference_cycles": each.run.metrics["model_cycles"]},
                provenance=absent,
            ),
        )
        for each in found.measured
    ]
    return judge(prepared, Forge(prepared, Silent()), runs, 0.0)


def document(modelled: Figure, measured: Figure) -> StudyDocument:
    first = judged(on_each_machine(BOTH)[0], modelled)
    return replace(pair_document(BOTH, first, real(measured)), report="report.html")


def gains(share: float, unit: float = 1e6) -> Figure:
    return lambda t: unit * layout_noise(t) * (share if t.variant.steps else 1)


def jittered(share: float) -> Figure:
    """Real times: what layouts cost is in them, and something of their own."""
    return lambda t: gains(share, 0.05)(t) * (1 + 0.002 * ((t.position * 7) % 5 - 2))


def printed(found: StudyDocument) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_study(found, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_machines_that_agree_are_told_to_agree() -> None:
    found = document(gains(0.9), jittered(0.9))
    assert found.pair is not None
    overall = found.pair.compared[0]
    assert (overall.variant, overall.workload) == ("profile=autofdo", "overall")
    assert overall.first == pytest.approx(0.9)
    assert overall.ratio == pytest.approx(1, abs=0.003)
    assert overall.second == pytest.approx(overall.first * overall.ratio)
    assert not any(each.disagree for each in found.pair.compared)
    assert "no difference between the machines to be seen" in overall.sentence
    layouts = [each for each in found.pair.ranks if each.of == "layouts"]
    assert [each.variant for each in layouts] == ["profile=none", "profile=autofdo"]
    assert all(each.correlation > 0.8 for each in layouts)


def test_machines_that_differ_are_told_with_by_what_in_every_form() -> None:
    found = document(gains(0.8), jittered(0.9))
    assert found.pair is not None
    overall = found.pair.compared[0]
    assert overall.disagree
    assert overall.ratio == pytest.approx(0.9 / 0.8, abs=0.005)
    said = (
        "over all workloads 0.8000 in model_cycles on tcg and "
        f"{overall.second:.4f} in reference_cycles on kvm: the machines differ"
    )
    assert said in overall.sentence
    page = study_page(found)
    for text in (page, study_markdown(found).replace("\\_", "_"), printed(found)):
        assert said in " ".join(text.split())
    assert "and on kvm" in page
    assert "QEMU emulates the processor" in page
    assert "there is no PMU" in printed(found)


def test_opposite_verdicts_are_called_so() -> None:
    found = document(gains(0.9), jittered(1.1))
    assert found.pair is not None
    assert "the machines say the opposite" in found.pair.compared[0].sentence


def test_the_document_is_that_of_its_schema_and_read_back(tmp_path: Path) -> None:
    found = document(gains(0.8), jittered(0.9))
    path = tmp_path / "study.json"
    path.write_text(as_json(found))
    jsonschema.validate(json.loads(path.read_text()), schema())
    again = read_document(path)
    assert isinstance(again, StudyDocument)
    assert again.pair == found.pair
    assert again.study.text.count("[[machine]]") == 2


def test_what_failed_on_the_second_machine_is_a_failure_of_the_study() -> None:
    found = document(gains(0.9), lambda t: -1.0 if t.position == 5 else jittered(0.9)(t))
    assert any(each.startswith("on kvm: panic: ") for each in found.failures)
