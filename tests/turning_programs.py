# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that tell made-up times as those of guest/programs do."""

from __future__ import annotations

from pathlib import Path

CHAIN = 6144


def turning_program(path: Path, units: list[int], *, sum: str = "5eed", code: int = 0) -> Path:
    """A program whose units take so many cycles of a core that runs as fast as its counter."""
    chains = " ".join([str(CHAIN)] * (len(units) + 2))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f"echo kernsmith: sum {sum}\n"
        f"echo kernsmith: chain {chains}\n"
        f"echo kernsmith: units {' '.join(map(str, units))}\n"
        f"echo $0 >> {path.parent}/turns.log\n"
        f"exit {code}\n"
    )
    path.chmod(0o755)
    return path
