# SPDX-License-Identifier: GPL-2.0-or-later
"""Relinking a real kernel: every function is there, elsewhere, and the kernel still boots."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.link import LinkFailed, layout_image, relink
from kernsmith.kernel.link_map import link_map, linkers_own_order
from kernsmith.kernel.symbols import (
    movable_end,
    movable_functions,
    read_system_map,
)
from kernsmith.layout import (
    Room,
    layout_name,
    place_together,
    random_order,
    read_link_map,
    rooms_of,
)
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine

pytestmark = pytest.mark.kernel


def linked(kernel: Kernel, order: list[str], kind: str = "random") -> Path:
    return relink(kernel, layout_name(kind, order), order)


def run(image: Path, folder: Path) -> Outcome:
    some = load_catalogue().select(["pipe"])[0]
    return run_once(open_machine("skylake"), image, Job(some, folder))


@pytest.fixture(scope="module")
def functions(micro_kernel: Kernel) -> list[str]:
    return movable_functions(read_system_map(micro_kernel.system_map))


def test_thousands_of_functions_can_move_and_entry_code_cannot(functions: list[str]) -> None:
    assert len(functions) > 5_000
    assert {"vfs_read", "do_sys_openat2", "kmem_cache_alloc_noprof"} & set(functions)
    assert not {"entry_SYSCALL_64", "asm_exc_page_fault", "schedule", "_raw_spin_lock"} & set(
        functions
    )


def test_a_layout_moves_functions_and_the_kernel_counts_the_same_work(
    micro_kernel: Kernel, functions: list[str], tmp_path: Path
) -> None:
    image = linked(micro_kernel, random_order(functions, "test"))
    before = {s.name: s.address for s in read_system_map(micro_kernel.system_map)}
    after = {s.name: s.address for s in read_system_map(image.with_name("System.map"))}
    moved = sum(before[name] != after[name] for name in functions)
    assert set(before) == set(after)
    assert moved > 0.95 * len(functions)

    default, random = run(micro_kernel.vmlinux, tmp_path / "a"), run(image, tmp_path / "b")
    assert default.ok, default.reason
    assert random.ok, random.reason
    old, new = (o.metrics["kernel_instructions"][0] for o in (default, random))
    assert abs(new / old - 1) < 0.0005
    assert random.metrics["l1i_misses"] != default.metrics["l1i_misses"]


def test_the_default_order_linked_again_gives_equal_counters(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    """The relink is the build's own link: without an order nothing moves and no counter changes."""
    image = linked(micro_kernel, ["no_function_has_this_name"], "identity")
    before, after = run(micro_kernel.vmlinux, tmp_path / "a"), run(image, tmp_path / "b")
    assert before.ok, before.reason
    assert before.metrics == after.metrics


def test_paddings_stand_where_the_order_says(micro_kernel: Kernel, functions: list[str]) -> None:
    """Behind a padding all moves by its size; the linker's map tells what may be placed."""
    rooms, start = rooms_of(read_link_map(link_map(micro_kernel)), functions)
    assert len(rooms) > 0.9 * len(functions)
    longer = rooms | {"vfs_read": Room(rooms["vfs_read"].size + 5000, 16)}
    shorter = {name: room for name, room in rooms.items() if name != "vfs_read"}
    plain, *_ = place_together([rooms], "test", start)
    beside, *_ = place_together([rooms, longer], "test", start)
    without, _ = place_together([shorter, rooms], "test", start)
    found = []
    for order in (plain, beside, without):
        name = layout_name("placed", [*order.names, *map(str, order.paddings.values())])
        image = relink(micro_kernel, name, list(order.names), order.paddings)
        symbols = read_system_map(image.with_name("System.map"))
        # Entry code has functions of its own under names that others have, too.
        names = Counter(symbol.name for symbol in symbols)
        found.append({s.name: s.address for s in symbols if names[s.name] == 1})
        end = movable_end(symbols)
        assert all(found[-1][name] < end for name in order.names if name in found[-1])
    one, padded, less = found
    at = beside.names.index("vfs_read")
    (padding,) = beside.paddings.values()
    assert list(beside.paddings) == [beside.names[at + 1]]
    assert 5000 - 16 < padding < 5000 + 16
    known = one.keys() & padded.keys() & less.keys()
    assert len(known & rooms.keys()) > 0.99 * len(rooms)
    assert all(one[name] == padded[name] for name in beside.names[: at + 1] if name in known)
    assert all(
        one[name] + padding == padded[name] for name in beside.names[at + 2 :] if name in known
    )
    # The function that one kernel has not got is still there, behind all that are ordered.
    assert all(one[name] == less[name] for name in shorter if name in known)
    assert one["vfs_read"] < less["vfs_read"]


def test_linking_one_order_twice_gives_one_image(
    micro_kernel: Kernel, functions: list[str]
) -> None:
    order = random_order(functions, "twice")
    name = layout_name("random", order)
    first = file_digest(relink(micro_kernel, name, order))
    shutil.rmtree(layout_image(micro_kernel, name).parent)
    assert file_digest(relink(micro_kernel, name, order)) == first


def test_the_linkers_own_order_of_a_kernel_that_was_never_relinked(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    fresh = Kernel(micro_kernel.key, tmp_path, micro_kernel.provenance)
    for name in ("out", "link.env", "System.map"):
        (tmp_path / name).symlink_to(micro_kernel.folder / name)
    sections = linkers_own_order(fresh, "vfs_read vfs_write 100\n", "hfsort").read_text()
    assert sections.index(".text.vfs_read") < sections.index(".text.vfs_write")


def test_a_link_that_fails_shows_command_and_log(
    micro_kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kernsmith.kernel.link._noted_environment",
        lambda path: {"srctree": str(micro_kernel.output / "source"), "LD": "false", "CC": "false"},
    )
    with pytest.raises(LinkFailed, match=r"log: .*broken\.log"):
        relink(micro_kernel, "broken", ["x"])
    assert not (layout_image(micro_kernel, ".broken")).parent.exists()
