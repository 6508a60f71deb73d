# SPDX-License-Identifier: GPL-2.0-or-later
"""The search for the functions that are to blame, over kernels of names; commands are real ones."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernsmith.document import BlameDocument
from kernsmith.engine import Silent
from kernsmith.engine.blame import Blame, Flaky
from kernsmith.engine.metric_test import ChangesMetric
from kernsmith.engine.mix_tests import MixTest, RunsCommand
from kernsmith.errors import Interrupted
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.exchange import Exchange, Unit
from kernsmith.report.blame.page import blame_markdown
from kernsmith.report.blame.words import verdict_sentence
from made_pair import NAMES, Counting, MadePair, made_pair

PIPE = Workload("pipe", ("lab",), "", 1, 1, ())
FIRST, SECOND = NAMES[7], NAMES[70]
UNITS = tuple(Unit((f"f{number:02}",)) for number in range(20))


def pair_of(
    folder: Path, kept: Mapping[str, str] | None = None, *, units: tuple[Unit, ...]
) -> MadePair:
    """Kernels of which two objects have these functions."""
    pair = made_pair(folder)
    pair.exchanges.update(dict.fromkeys((FIRST, SECOND), Exchange(units, kept or {})))
    return pair


def bad_with(*any_of: str) -> str:
    """A line of a script that ends with "good" where none of these is in the kernel."""
    words = " ".join(f"-e {name}" for name in any_of)
    return f"grep -qx {words} $1 || exit 0\n"


def command(*lines: str, end: str = "exit 1", repeats: int = 1) -> RunsCommand:
    return RunsCommand(("sh", "-c", "".join(lines) + end, "sh"), repeats)


def search(
    pair: MadePair, test: MixTest, folder: Path, events: Silent | None = None, **words: bool
) -> BlameDocument:
    return Blame(pair, test, folder / "state", events or Silent(), slots=2, **words).run()


def narrowed(found: BlameDocument) -> dict[str, tuple[tuple[str, ...], ...]]:
    return {view.object: tuple(unit.functions for unit in view.narrowed) for view in found.blamed}


def test_functions_of_two_objects_are_found(tmp_path: Path) -> None:
    """One function of the first, and two of the second that are bad together only."""
    pair = pair_of(tmp_path, units=UNITS)
    test = command(
        bad_with(FIRST, f"{FIRST}:f03"),
        bad_with(SECOND, f"{SECOND}:f05"),
        bad_with(SECOND, f"{SECOND}:f16"),
    )
    found = search(pair, test, tmp_path)
    assert narrowed(found) == {FIRST: (("f03",),), SECOND: (("f05",), ("f16",))}
    taken = [f"{FIRST}:", f"{FIRST}:f03", f"{SECOND}:", f"{SECOND}:f05", f"{SECOND}:f16"]
    assert Path(found.vmlinux).read_text().split()[1:] == taken
    assert "Of fs/007.o it is the function f03. Of fs/070.o it is the functions f05, f16." in (
        verdict_sentence(found)
    )
    last = found.tests[-1]
    assert last.taken == 2 and last.functions is not None
    assert "functions to blame" in blame_markdown(found)


def test_functions_that_go_together_are_blamed_together(tmp_path: Path) -> None:
    pair = pair_of(tmp_path, units=(Unit(("f1", "f2"), ("h",)), Unit(("g",))))
    found = search(pair, command(bad_with(FIRST, f"{FIRST}:f1")), tmp_path)
    assert narrowed(found) == {FIRST: (("f1", "f2"),)}
    assert "it is the functions f1 and f2 (with h, which it calls" in verdict_sentence(found)


@pytest.mark.parametrize(
    ("units", "kept", "lines", "why"),
    [
        # No function is the cause: a table is, for example.
        (UNITS, {}, bad_with(FIRST), "with all 20 functions that can be exchanged it is good"),
        (
            (Unit(("f",)),),
            {"g": "it shares the section .init.text with others"},
            bad_with(FIRST),
            "with the function that can be exchanged it is good; 1 function cannot be exchanged "
            "(g: it shares the section .init.text with others)",
        ),
        ((), {"g": "it refers to x"}, bad_with(FIRST), "1 function cannot be exchanged (g: it re"),
        ((), {}, bad_with(FIRST), "the code of no function of it differs"),
        # Being made of two is bad already.
        (UNITS, {}, bad_with(FIRST, f"{FIRST}:"), "functions from the good kernel it is bad, too"),
        (
            UNITS,
            {},
            bad_with(FIRST, f"{FIRST}:") + f"grep -qx {FIRST} $1 || exit 125\n",
            "not to be judged (the command cannot tell (125))",
        ),
    ],
)
def test_where_functions_cannot_be_told_the_object_stays_and_says_why(
    units: tuple[Unit, ...],
    kept: dict[str, str],
    lines: str,
    why: str,
    tmp_path: Path,
) -> None:
    pair = pair_of(tmp_path, kept, units=units)
    found = search(pair, command(lines), tmp_path)
    (view,) = found.blamed
    assert (view.object, view.narrowed) == (FIRST, ())
    assert why in view.why
    assert f"not told apart: {view.why}" in blame_markdown(found)
    assert Path(found.vmlinux).read_text().split()[1:] == [FIRST]


def test_an_object_of_which_nothing_can_be_exchanged_stays(tmp_path: Path) -> None:
    found = search(made_pair(tmp_path), command(bad_with(FIRST)), tmp_path)
    assert [view.why for view in found.blamed] == ["it is made up"]


def test_functions_are_left_out_where_they_are_not_asked_for(tmp_path: Path) -> None:
    """And looked for by the same state when they are."""
    pair = pair_of(tmp_path, units=UNITS)
    test = command(bad_with(FIRST, f"{FIRST}:f03"))
    found = search(pair, test, tmp_path, functions=False)
    assert (narrowed(found), found.blamed[0].why) == ({FIRST: ()}, "")
    assert Path(found.vmlinux).read_text().split()[1:] == [FIRST]
    more = search(pair, test, tmp_path)
    assert more.tests[: len(found.tests)] == found.tests
    assert narrowed(more) == {FIRST: (("f03",),)}
    assert Path(more.vmlinux).read_text().split()[1:] == [f"{FIRST}:", f"{FIRST}:f03"]


def test_what_was_judged_before_a_kill_is_not_judged_again(tmp_path: Path) -> None:
    class Stops(Silent):
        def note(self, text: str, share: float | None = None) -> None:
            if text.endswith("functions left"):
                raise Interrupted

    pair = pair_of(tmp_path, units=UNITS)
    test = command(bad_with(FIRST, f"{FIRST}:f03"))
    with pytest.raises(Interrupted):
        search(pair, test, tmp_path, Stops())
    before = (tmp_path / "state/tests.jsonl").read_text()
    assert json.loads(before.splitlines()[-1])["functions"] is not None
    found = search(pair, test, tmp_path)
    assert narrowed(found) == {FIRST: (("f03",),)}
    assert (tmp_path / "state/tests.jsonl").read_text().startswith(before)


def test_a_flaky_test_is_told_of_functions_too(tmp_path: Path) -> None:
    """With the one function it is good from the second time on."""
    pair, count = pair_of(tmp_path, units=UNITS), tmp_path / "count"
    once = (
        f"[ $(wc -l < $1) -eq 3 ] && grep -q :f03 $1 && echo >> {count} && "
        f"[ $(wc -l < {count}) -gt 1 ] && exit 0\n"
    )
    with pytest.raises(Flaky, match=r"fs/007\.o:f03 of the bad one was bad, and is good now"):
        search(pair, command(bad_with(FIRST, f"{FIRST}:f03"), once), tmp_path)


def test_a_bug_of_a_function_that_shows_at_times_is_found_by_repeating(tmp_path: Path) -> None:
    """Every third answer about a bad kernel is "bad"."""
    pair, count = pair_of(tmp_path, units=UNITS), tmp_path / "count"
    end = f"flock {count} sh -c 'echo >> {count}; [ $(($(wc -l < {count}) % 3)) != 0 ]'"
    test = command(bad_with(FIRST, f"{FIRST}:f03"), end=end, repeats=6)
    assert narrowed(search(pair, test, tmp_path)) == {FIRST: (("f03",),)}


def test_a_metric_blames_the_function_that_makes_half_of_the_change(tmp_path: Path) -> None:
    costs = {FIRST: 3.0, f"{FIRST}:f11": 2.5, f"{FIRST}:f12": 0.5}
    test = ChangesMetric(Counting(costs), (PIPE,), "kernel_instructions", "pipe")
    found = search(pair_of(tmp_path, units=UNITS), test, tmp_path)
    assert narrowed(found) == {FIRST: (("f11",),)}
    last = found.tests[-1]
    assert last.functions is not None and last.change is not None
    bad = [each for each in found.tests if each.verdict == "bad"]
    assert bad[-1].change == pytest.approx(2.5, abs=0.1)
