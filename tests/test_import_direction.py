# SPDX-License-Identifier: GPL-2.0-or-later
"""Data goes one way: what computes knows nothing of what shows."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernsmith

ROOT = Path(kernsmith.__file__).parent


def imported(package: str) -> Iterator[str]:
    """Parts of the program that modules of a package import, also inside of functions."""
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            parts = [name.split(".") for name in names if name.startswith("kernsmith.")]
            yield from (part[1] for part in parts)


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("harness", {"kernel", "machine", "ledger", "document", "engine", "report", "cli"}),
        ("stats", {"study", "kernel", "machine", "ledger", "document", "engine", "report", "cli"}),
        ("study", {"kernel", "machine", "ledger", "stats", "document", "engine", "report", "cli"}),
        ("machine", {"ledger", "stats", "document", "engine", "report", "cli"}),
        ("ledger", {"stats", "document", "engine", "report", "cli"}),
        ("document", {"engine", "report", "cli"}),
        ("engine", {"report", "cli"}),
        ("report", {"cli"}),
    ],
)
def test_nothing_is_imported_against_the_flow(package: str, never: set[str]) -> None:
    found = set(imported(package))
    assert package in found
    assert not found & never


def test_no_command_waits_for_what_few_of_them_compute() -> None:
    """scipy's parts are imported where they are used: they take longer than all the rest."""
    all_commands = [sys.executable, "-X", "importtime", "-m", "kernsmith", "--help"]
    told = subprocess.run(all_commands, capture_output=True, text=True, check=True).stderr
    modules = set(re.findall(r"^import time:.*\| +(\S+)$", told, re.MULTILINE))
    assert {"kernsmith.engine", "scipy"} <= modules
    assert not {"scipy.stats", "scipy.optimize", "scipy.special"} & modules
