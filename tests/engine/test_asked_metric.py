# SPDX-License-Identifier: GPL-2.0-or-later
"""The metric that a study is about may be one that its workloads tell themselves."""

import shutil
from pathlib import Path

import pytest

from kernsmith.engine import Silent, prepare
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.verdicts import direction_of_study
from kernsmith.errors import UserError
from kernsmith.guest.workloads import guest_program
from kernsmith.kernel.source import Source
from kernsmith.study import Design, Study
from kernsmith.study.study import LayoutsBy

METRICS = {
    "fast": 'transfers = { unit = "1/s", better = "higher" }\nlatency = "us"',
    "slow": 'transfers = { unit = "1/min", better = "higher" }',
    "odd": 'transfers = ""',
    "mute": "",
}


def prepared(
    folder: Path, *names: str, metric: str = "transfers", by: LayoutsBy = "boot"
) -> Prepared:
    """A study of such workloads, named after their metrics."""
    shutil.copy(guest_program(), folder / "program")
    for name in names:
        text = f'name = "own-{name}"\nprogram = "program"\n[metrics]\n{METRICS[name]}\n'
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return prepare(
        Study(
            source="debian:7.3",
            config="micro",
            factors=(("label", ("a", "b")),),
            workloads=tuple(str(folder / f"{name}.toml") for name in names),
            design=Design(layouts=2, layouts_by=by, metric=metric),
        ),
        Silent(),
    )


def test_it_has_unit_and_direction_of_the_file(source: Source, tmp_path: Path) -> None:
    study = prepared(tmp_path, "fast")
    assert direction_of_study(study) == "higher"
    told = {each.name: (each.unit, each.headline) for each in study.metrics}
    assert told["transfers"] == ("1/s", True)
    assert told["latency"] == ("us", True)


def test_units_that_differ_are_left_out(source: Source, tmp_path: Path) -> None:
    told = {each.name: each.unit for each in prepared(tmp_path, "fast", "slow").metrics}
    assert told["transfers"] == ""


@pytest.mark.parametrize(
    ("names", "metric", "by", "said"),
    [
        (("fast",), "speed", "boot", "no metric 'speed': allowed are .*, transfers, latency"),
        (("fast", "mute"), "transfers", "boot", "transfers is not told by own-mute"),
        (("fast", "odd"), "transfers", "boot", "of transfers less is better to one workload"),
        (("fast",), "transfers", "replay", "of which a replay knows nothing: .*layouts-by boot"),
    ],
)
def test_what_it_cannot_be_about_is_refused(
    source: Source,
    tmp_path: Path,
    names: tuple[str, ...],
    metric: str,
    by: LayoutsBy,
    said: str,
) -> None:
    with pytest.raises(UserError, match=said):
        prepared(tmp_path, *names, metric=metric, by=by)


def test_no_headline_is_one_that_a_replay_knows_nothing_of(source: Source, tmp_path: Path) -> None:
    study = prepared(tmp_path, "fast", metric="", by="replay")
    assert not any(each.headline for each in study.metrics if each.name == "transfers")
