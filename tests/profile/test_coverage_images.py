# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts by source of a kernel and its modules, as if they were one image."""

from kernsmith.profile.coverage.images import joined

KERNEL = {
    "files": ["fs/pipe.c", "include/list.h"],
    "lines": [(0, 10, 5, 50, 0), (1, 3, 2, 6, 1)],
    "functions": [("pipe_read", 0, 9, 5, 50), ("list_add", 1, 2, 2, 6)],
    "instances": [(0, None, 0), (1, 0, 11)],
    "samples": [(0, 10, 50), (1, 3, 6)],
    "executed": 56,
    "build_id": "ab",
}
MODULE = {
    "files": ["include/list.h", "crypto/serpent.c"],
    "lines": [(0, 3, 4, 12, 1), (0, 4, 1, 1, 1), (1, 7, 9, 90, 0)],
    "functions": [
        ("serpent_encrypt", 1, 6, 9, 90),
        ("list_add", 0, 2, 4, 13),
        ("bare", None, 0, 1, 1),
    ],
    "instances": [(0, None, 0), (1, 0, 8)],
    "samples": [(0, 7, 90), (1, 3, 12)],
    "executed": 104,
    "build_id": "",
}


def test_one_image_is_told_as_it_is() -> None:
    assert joined([KERNEL]) is KERNEL


def test_a_header_is_one_file_and_its_lines_add_up() -> None:
    found = joined([KERNEL, MODULE])
    assert found["files"] == ["fs/pipe.c", "include/list.h", "crypto/serpent.c"]
    assert found["lines"] == [
        (0, 10, 5, 50, 0),
        # Of the function that ran more of it: the module's.
        (1, 3, 6, 18, 3),
        (1, 4, 1, 1, 3),
        (2, 7, 9, 90, 2),
    ]
    assert (found["executed"], found["build_id"]) == (160, "ab")


def test_numbers_of_functions_and_copies_stay_those_of_their_image() -> None:
    found = joined([KERNEL, MODULE])
    assert [(name, file) for name, file, *_ in found["functions"]] == [
        ("pipe_read", 0), ("list_add", 1), ("serpent_encrypt", 2), ("list_add", 1), ("bare", None),
    ]  # fmt: skip
    assert found["instances"] == [(0, None, 0), (1, 0, 11), (2, None, 0), (3, 2, 8)]
    assert found["samples"] == [(0, 10, 50), (1, 3, 6), (2, 7, 90), (3, 3, 12)]
