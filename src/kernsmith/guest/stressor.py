# SPDX-License-Identifier: GPL-2.0-or-later
"""Any stressor of stress-ng as a workload: `stress-ng:NAME` or `stress-ng:NAME:OPERATIONS`.

The word becomes a workload's file like any other, which is kept in the cache: who wants more of it
than the word says copies it.
"""

from __future__ import annotations

import re
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.files import write_text

PREFIX = "stress-ng:"
"""What a word for a stressor begins with."""

_WORD = re.compile(r"stress-ng:([a-z][a-z0-9-]{0,23})(?::([1-9][0-9]{0,8}))?", re.ASCII)
_OPERATIONS = 1000
_ROUNDS = 2

_FILE = """\
# SPDX-License-Identifier: GPL-2.0-or-later
name = "{name}"
description = "stress-ng's {stressor}, {operations:,} operations of one instance"
program = "sh"
arguments = ["stressor.sh", "{stressor}", "{operations}"]
files = ["stressor.sh"]
rounds = {rounds}
operations = {operations}
unit = "operation"

[root]
packages = ["stress-ng"]

[check]
output = "expected"
"""
# `--timeout 0` takes the clock out, `--seed` the random numbers. Some stressors count one more.
_SCRIPT = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# stressor.sh STRESSOR OPERATIONS: what it does is verified where it can be, and that it was enough.
if ! stress-ng --stressors | tr ' ' '\\n' | grep -qx -- "$1"; then
    echo "stress-ng has no stressor $1" >&2
    exit 2
fi
stress-ng "--$1" 1 "--$1-ops" "$2" --seed 20260101 --verify --timeout 0 --temp-path /tmp \\
    --yaml /tmp/stress.yaml --metrics-brief --quiet || exit
awk -v least="$2" '$1 == "bogo-ops:" { print ($2 >= least ? "done" : "only " $2) }' /tmp/stress.yaml
"""


def stressor_file(word: str) -> Path:
    """The file of the workload that a word names.

    Raises:
        UserError: it is no such word.
    """
    found = _WORD.fullmatch(word)
    if not found:
        raise UserError(
            f"{word!r} is no stressor: stress-ng:NAME or stress-ng:NAME:OPERATIONS, as in "
            f"{PREFIX}epoll:20000"
        )
    stressor, operations = found[1], int(found[2] or _OPERATIONS)
    name = f"stress-ng-{stressor}-{operations}"
    folder = paths.cache_root() / "stressors" / name
    text = _FILE.format(name=name, stressor=stressor, operations=operations, rounds=_ROUNDS)
    for file, content in (("stressor.sh", _SCRIPT), ("expected", "done\n"), (f"{name}.toml", text)):
        path = folder / file
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            write_text(path, content)
    return folder / f"{name}.toml"
