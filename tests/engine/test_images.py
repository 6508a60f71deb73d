# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout's image is linked from, and what it is called."""

from pathlib import Path
from typing import cast

import pytest

from kernsmith.engine import Silent
from kernsmith.engine.images import Images
from kernsmith.engine.kernels import Kernels
from kernsmith.engine.making import Link
from kernsmith.engine.workers import LocalWorkers
from kernsmith.kernel.artifact import Kernel
from kernsmith.study import Layout, Variant

SYSTEM_MAP = """\
ffffffff81000000 T _stext
ffffffff81000000 T __entry_text_start
ffffffff81000000 T entry
ffffffff81000040 T __entry_text_end
ffffffff81000040 T one
ffffffff81000080 T two
ffffffff810000c0 T _etext
"""
LINK_MAP = """\
ffffffff81001000          1801000       40    64 .data
ffffffff81001000          1801000       20     8         vmlinux.a(a.o):(.data)
ffffffff81001000          1801000        8     1                 first
ffffffff81001020          1801020       20     8         vmlinux.a(b.o):(.data)
ffffffff81001020          1801020        8     1                 second
"""
VARIANT = Variant("x", "micro")


class _One:
    """A study's kernels, of which there is one."""

    def __init__(self, folder: Path) -> None:
        self._kernel = Kernel("a" * 64, folder, {"variant": {}})

    def kernel(self, variant: Variant) -> Kernel:
        return self._kernel


@pytest.fixture
def images(tmp_path: Path) -> Images:
    (tmp_path / "System.map").write_text(SYSTEM_MAP)
    kernels = cast(Kernels, _One(tmp_path))
    return Images(kernels, Silent(), {}, lambda kernel: "", False, LocalWorkers())


def asked(images: Images, layout: Layout) -> Link:
    link = images.order(VARIANT, layout)
    assert link is not None
    return link


def test_a_random_layout_names_functions_of_regions_and_has_their_margins(images: Images) -> None:
    drawn, default = asked(images, Layout(seed="7")), asked(images, Layout())
    assert sorted(drawn.order.names) == ["entry", "one", "two"]
    assert drawn.order.margins.keys() == {".entry.text"}
    assert (default.order.names, default.order.margins) == ((), {})
    assert drawn == asked(images, Layout(seed="7")) != asked(images, Layout(seed="8"))
    assert drawn.name != default.name


def test_data_are_shuffled_where_a_layout_says_so(images: Images, tmp_path: Path) -> None:
    layout = Layout(seed="7", data=True)
    assert images.order(VARIANT, layout) is None, "only a link tells which data there are"
    (tmp_path / "link.map").write_text(LINK_MAP)
    plain, drawn = asked(images, Layout(seed="7")), asked(images, layout)
    assert drawn.order.names[:3] == plain.order.names
    assert sorted(drawn.order.names[3:]) == ["first", "second"]
    assert drawn.order.margins == plain.order.margins
    assert drawn.name != plain.name
