# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith silicon`: bad input is one sentence, before anything is fetched or compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.cli import main


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--program", "emacs"], "there is no program 'emacs': allowed are lua, mix"),
        (["--build", "O9"], "there is no build 'O9': allowed are O2, O1"),
        (["--order", "best"], "there is no order 'best': allowed are hot-first, density"),
        (["--runs", "2"], "silicon needs --runs 4 or more"),
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
    from kernsmith.engine.silicon import read_rows
    from kernsmith.errors import UserError

    table = tmp_path / "times.csv"
    table.write_text("build,layout\nO2,default\n")
    with pytest.raises(UserError, match="is no table of `kernsmith silicon`"):
        read_rows(table)
    columns = "program,build,layout,digest,runs,cycles,first_half,second_half"
    table.write_text(f"{columns}\nlua,O2,default,abc,many,1,1,1\n")
    with pytest.raises(UserError, match="line 2: invalid literal"):
        read_rows(table)
    table.write_text(f"{columns}\nlua,O2,default,abc,25,1e8,1.1e8,1.2e8\n")
    assert [row.cycles for row in read_rows(table)] == [1e8]
    table.write_text(f"{columns}\nlua,O2,default,abc,25,nan,1,1\n")
    with pytest.raises(UserError, match="line 2: cycles are more than 0, not 'nan'"):
        read_rows(table)


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
    import json

    from kernsmith.cli.silicon import tell_times
    from kernsmith.engine.silicon import Row

    took = {"O2": (100.0, 104.0, 96.0), "Os": (103.0, 108.0, 99.0)}
    layouts = ("default", "random:1", "random:2")
    rows = [
        Row("lua", build, layout, f"{build}-{layout}", 25, cycles, cycles, cycles)
        for build, all_of in took.items()
        for layout, cycles in zip(layouts, all_of, strict=True)
    ]
    assert tell_times(rows, 25, json=True) == 0
    (told,) = json.loads(capsys.readouterr().out)["builds"]
    assert (told["group"], told["build"], told["default"]) == ("lua", "Os", 1.03)
    assert told["effect"]["ratio"] == pytest.approx((108 / 104 * 99 / 96) ** 0.5)
    assert tell_times(rows, 25, json=False) == 0
    assert "1.0300" in capsys.readouterr().out


def test_orders_stand_beside_builds_and_are_no_layouts_to_compare_builds_by(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import json

    from kernsmith.cli.silicon import tell_times
    from kernsmith.engine.silicon import Row

    cycles = {"default": 100.0, "random:1": 110.0, "order:lld cdsort": 90.0}
    rows = [
        Row("lua", build, layout, f"{build}-{layout}", 25, by * took, by * took, by * took)
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
