# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith report`: a page from the ledger."""

from pathlib import Path

import numpy as np
import pytest

from kernsmith.cli import main
from kernsmith.cli.report import report
from kernsmith.errors import UserError
from kernsmith.ledger import Ledger, RunRow, TrialRow, now
from kernsmith.ledger.voids import Selection

STUDY = """
[source]
use = "debian:7.3"

[variants]
"<base>" = {}
afdo = { profile = "autofdo" }
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return record(tmp_path, STUDY)


def record(folder: Path, text: str, variants: tuple[str, str] = ("<base>", "afdo")) -> str:
    """A ledger with a study of this text; `variants` in the order in which they ran."""
    url = f"sqlite:///{folder}/ledger.sqlite"
    ledger, random = Ledger(url), np.random.default_rng(1)
    plan = [
        (
            TrialRow(
                digest=f"{len('x' * layout) * 100 + v * 10 + w:064x}", kernel="k" * 64,
                variant=variant, layout=f"random:1.{layout}", workload=workload, machine="tcg",
                cpu="skylake", replicate=0, conditions={},
            ),
            variant,
            layout,
            4 * layout + 2 * v + w,
        )
        for layout in range(1, 9)
        for v, variant in enumerate(variants)
        for w, workload in enumerate(("pipe", "fork"))
    ]  # fmt: skip
    ledger.record_study("a" * 64, "lab", text, plan)
    for trial, variant, *_ in plan:
        attempt = ledger.claim(trial.digest)
        assert attempt is not None
        cycles = 1e6 * (0.9 if variant == "afdo" else 1.0) * float(random.normal(1, 0.01))
        metrics = {"model_cycles": (cycles, "cycles"), "stlb_misses": (0.0, "misses")}
        ledger.record(RunRow(trial.digest, attempt, "ok", "", "", now(), 1.0, metrics))
    ledger.close()
    return url


def test_a_page(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert report("lab", ledger=url, output=page) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    text = page.read_text()
    assert "afdo: whole mix: faster by " in text
    assert "&lt;base&gt;" in text
    assert "<base>" not in text.split("<script", 1)[0]
    assert "Where the variance within variants comes from" in text
    assert "Always-valid intervals of the overall ratio" in text


def test_what_has_not_run_yet_is_told_first(url: str, tmp_path: Path) -> None:
    ledger, page = Ledger(url), tmp_path / "report.html"
    ledger.void(Selection(numbers=[1, 2]), "measured by mistake")
    ledger.close()
    report("lab", ledger=url, output=page)
    before, _, after = page.read_text().partition("2 trials have not run yet.")
    assert "<svg" not in before
    assert "What failed" not in after


def test_the_baseline_is_the_first_of_the_study_whichever_ran_first(tmp_path: Path) -> None:
    url, page = record(tmp_path, STUDY, variants=("afdo", "<base>")), tmp_path / "report.html"
    report("lab", ledger=url, output=page)
    assert "afdo: whole mix: faster by " in page.read_text()
    report("lab", ledger=url, output=page, baseline="afdo")
    assert "&lt;base&gt;: whole mix: slower by " in page.read_text()


def test_a_baseline_that_cannot_be_known_is_asked_for(tmp_path: Path) -> None:
    """A study that was recorded in words of before, and one whose baseline never ran to its end."""
    earlier, other = tmp_path / "earlier", tmp_path / "other"
    earlier.mkdir()
    other.mkdir()
    page = tmp_path / "report.html"
    url = record(earlier, STUDY.replace("use =", "tree ="))
    with pytest.raises(
        UserError, match=r"study lab: its text: .*; name its baseline by --baseline"
    ):
        report("lab", ledger=url, output=page)
    assert report("lab", ledger=url, output=page, baseline="<base>") == 0
    url = record(other, STUDY.replace("<base>", "absent"))
    with pytest.raises(
        UserError, match=r"its baseline 'absent' has no finished run; .* <base>, afdo"
    ):
        report("lab", ledger=url, output=page)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"metric": ("seconds",)}, "study lab: no finished run has the metric 'seconds'"),
        ({"baseline": "lto"}, "no variant is called 'lto'; there are <base>, afdo"),
        ({"effect": float("inf")}, "--effect is a difference in per cent above 0, not inf"),
        ({"alpha": 2.0}, "--alpha is a probability between 0 and 1, not 2"),
        ({"output": Path(__file__, "report.html")}, "report.html cannot be written"),
    ],
)
def test_mistakes(url: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        report("lab", ledger=url, **options)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_a_folder_is_not_its_result(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "bisect-1a2b"
    folder.mkdir()
    with pytest.raises(UserError, match=r"bisect-1a2b is a folder: name .*/study\.json"):
        report(str(folder), ledger=url)
    (folder / "bisect.json").touch()
    with pytest.raises(UserError, match=r"name the result in it, .*/bisect\.json"):
        report(str(folder), ledger=url)


@pytest.mark.parametrize(
    "option", ["--alpha 0.01", "--baseline a", "--metric m", "--effect 2", "--ledger x"]
)
def test_a_result_takes_no_options_of_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    for name in ("st.json", "st.JSON"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(SystemExit) as ended:
            main(["report", str(tmp_path / name), *option.split()])
        assert ended.value.code == 2
        told = capsys.readouterr().err
        assert f"{option.split()[0]} is for studies of the ledger: {tmp_path / name} is" in told
