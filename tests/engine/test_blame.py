# SPDX-License-Identifier: GPL-2.0-or-later
"""The search for the objects that are to blame, over kernels of names; commands are real ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.document import BlameDocument
from kernsmith.engine import Silent
from kernsmith.engine.blame import Blame, Flaky, blame_key
from kernsmith.engine.metric_test import ChangesMetric
from kernsmith.engine.mix_tests import MixTest, RunsCommand
from kernsmith.errors import Interrupted, UserError
from kernsmith.guest.workloads import Workload
from kernsmith.report.blame.page import blame_markdown, blame_page
from kernsmith.report.blame.words import verdict_sentence
from made_pair import NAMES, Counting, MadePair, made_pair

PIPE = Workload("pipe", ("lab",), "", 1, 1, ())


@pytest.fixture
def pair(tmp_path: Path) -> MadePair:
    return made_pair(tmp_path)


def command(script: str, repeats: int = 1) -> RunsCommand:
    """A test by a shell script; `$1` is the image."""
    return RunsCommand(("sh", "-c", script, "sh"), repeats)


def has(*names: str) -> RunsCommand:
    """Bad is what has all of these objects."""
    return command("".join(f"grep -q {name} $1 || exit 0\n" for name in names) + "exit 1")


def search(pair: MadePair, test: MixTest, folder: Path) -> BlameDocument:
    return Blame(pair, test, folder / "state", Silent(), slots=2).run()


def test_two_objects_that_are_bad_together_are_found(pair: MadePair, tmp_path: Path) -> None:
    found = search(pair, has(NAMES[7], NAMES[70]), tmp_path)
    assert [view.object for view in found.blamed] == [NAMES[7], NAMES[70]]
    assert Path(found.vmlinux).read_text().split()[1:] == [NAMES[7], NAMES[70]]
    assert found.tests[0].taken + found.tests[1].taken == found.suspects == len(NAMES)
    assert verdict_sentence(found) == (
        f"2 of 100 suspects are to blame: with {NAMES[7]}, {NAMES[70]} of 'bad', 'good' is bad "
        "(exit code 1)."
    )
    others = [path for path in (tmp_path / "state").glob("*/vmlinux") if str(path) != found.vmlinux]
    assert not others, "images of other mixed kernels take up space"


def test_what_was_judged_before_a_kill_is_not_judged_again(pair: MadePair, tmp_path: Path) -> None:
    class Stops(Silent):
        def note(self, text: str, share: float | None = None) -> None:
            if text.endswith("suspects left") and int(text.split()[0]) < 40:
                raise Interrupted

    test = has(NAMES[42])
    with pytest.raises(Interrupted):
        Blame(pair, test, tmp_path / "state", Stops(), slots=2).run()
    journal = tmp_path / "state/tests.jsonl"
    before = journal.read_text()
    journal.write_text(before + '{"mix": "mix-half a li')  # what a kill leaves
    found = search(pair, test, tmp_path)
    assert [view.object for view in found.blamed] == [NAMES[42]]
    assert journal.read_text().startswith(before)
    lines = journal.read_text().splitlines()
    assert len(lines) == len(set(lines)) == len(found.tests)


def test_good_and_bad_that_are_swapped_are_told(pair: MadePair, tmp_path: Path) -> None:
    lacks = command(f"grep -q {NAMES[3]} $1")
    with pytest.raises(UserError, match=r"are swapped: the good kernel is bad \(exit code 1\)"):
        search(pair, lacks, tmp_path)


def test_a_good_kernel_that_is_bad_too_is_told(pair: MadePair, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the good kernel is bad, too: exit code 3"):
        search(pair, command("exit 3"), tmp_path)


def test_a_bad_kernel_that_is_good_is_told(pair: MadePair, tmp_path: Path) -> None:
    found = search(pair, command("exit 0"), tmp_path)
    assert (found.blamed, found.link_is_bad, found.vmlinux) == ((), False, "")
    assert verdict_sentence(found) == "There is nothing to blame: 'bad' is good."


def test_a_kernel_that_is_bad_by_its_link_is_told(tmp_path: Path) -> None:
    pair = made_pair(tmp_path, own="broken")
    found = search(pair, command("! grep -q broken $1"), tmp_path)
    assert (found.blamed, found.link_is_bad) == ((), True)
    assert "it is the link" in verdict_sentence(found)


def test_mixtures_that_cannot_be_judged_are_neither(pair: MadePair, tmp_path: Path) -> None:
    """Without its neighbour the object does not work at all, and that is not what is looked for."""
    script = f"grep -q {NAMES[10]} $1 || exit 0; grep -q {NAMES[60]} $1 || exit 125; exit 1"
    found = search(pair, command(script), tmp_path)
    assert [view.object for view in found.blamed] == [NAMES[10], NAMES[60]]
    assert "unresolved" in {test.verdict for test in found.tests}


@pytest.mark.parametrize(
    ("script", "told"),
    [
        # Every second answer is the other one.
        ("echo >> COUNT; [ $(($(wc -l < COUNT) % 2)) = 0 ]", "of one and the same .* kernel it"),
        # The ends are steady; with one object it is good from some time on.
        (
            "grep -q 042 $1 || exit 0; [ $(wc -l < $1) -gt 2 ] && exit 1; "
            "echo >> COUNT; [ $(wc -l < COUNT) -gt 1 ]",
            "042.o of the bad one was bad, and is good now",
        ),
    ],
)
def test_a_flaky_test_is_told(script: str, told: str, pair: MadePair, tmp_path: Path) -> None:
    test = command(script.replace("COUNT", str(tmp_path / "count")))
    with pytest.raises(Flaky, match=f"the test is flaky: .*{told}.*--repeat N"):
        search(pair, test, tmp_path)


def test_a_bug_that_shows_at_times_is_found_by_repeating(pair: MadePair, tmp_path: Path) -> None:
    """Every third answer about a bad kernel is "bad"."""
    count = tmp_path / "count"
    script = (
        f"grep -q 042 $1 || exit 0; flock {count} sh -c "
        f"'echo >> {count}; [ $(($(wc -l < {count}) % 3)) != 0 ]'"
    )
    test = command(script, repeats=6)
    found = search(pair, test, tmp_path)
    assert [view.object for view in found.blamed] == [NAMES[42]]


@pytest.mark.parametrize("costs", [{NAMES[9]: 3.0, NAMES[80]: 0.5}, {NAMES[9]: -3.0}])
def test_a_metric_blames_what_makes_half_of_the_change(
    costs: dict[str, float], pair: MadePair, tmp_path: Path
) -> None:
    test = ChangesMetric(Counting(costs), (PIPE,), "kernel_instructions", "pipe")
    found = search(pair, test, tmp_path)
    assert [view.object for view in found.blamed] == [NAMES[9]]
    last = found.tests[-1]
    assert found.limit == pytest.approx(sum(costs.values()) / 2, rel=0.02)
    assert last.change is not None
    whole = next(test for test in found.tests if test.taken == len(NAMES))
    assert whole.change == pytest.approx(sum(costs.values()), rel=0.01)
    assert whole.layouts >= 4


def test_of_named_objects_the_rest_stays_unjudged(tmp_path: Path) -> None:
    """What is bad in the others is no fault of the link."""
    pair = replace(made_pair(tmp_path, own="broken"), among=("fs/00?.o",))
    found = search(pair, command("! grep -q broken $1"), tmp_path)
    assert (found.blamed, found.link_is_bad, found.among) == ((), False, pair.among)
    assert verdict_sentence(found) == ("Nothing of fs/00?.o is to blame: with it 'good' is good.")
    assert "objects differ and fit fs/00?.o;" in blame_markdown(found)
    assert blame_key(pair, has(NAMES[1])) != blame_key(replace(pair, among=()), has(NAMES[1]))


def test_luck_of_layout_alone_is_no_reason_to_blame(pair: MadePair, tmp_path: Path) -> None:
    test = ChangesMetric(Counting({}), (PIPE,), "kernel_instructions", "pipe")
    found = search(pair, test, tmp_path)
    assert found.blamed == ()
    assert "is good" in verdict_sentence(found)


@pytest.mark.parametrize("show", [blame_page, blame_markdown])
def test_results_are_shown(
    show: Callable[[BlameDocument], str], pair: MadePair, tmp_path: Path
) -> None:
    test = ChangesMetric(Counting({NAMES[1]: 1.0}), (PIPE,), "kernel_instructions", "pipe")
    for found in (search(pair, test, tmp_path), search(pair, has(NAMES[1]), tmp_path / "other")):
        assert NAMES[1] in show(found)
        assert "1 of 100 suspects is to blame" in show(found)


def test_searches_of_another_test_are_others(pair: MadePair) -> None:
    tests = [has(NAMES[1]), has(NAMES[2]), replace(has(NAMES[1]), repeats=2)]
    tests += [ChangesMetric(Counting({}), (PIPE,), "kernel_instructions", "pipe")]
    assert len({blame_key(pair, test) for test in tests}) == len(tests)


def test_an_edited_script_is_another_test(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("exit 0")
    test = RunsCommand((str(script), "{}"))
    before = test.identity()
    assert test.identity() == before
    script.write_text("exit 1")
    assert test.identity() != before
