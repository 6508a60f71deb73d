# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith analyze` costs: 1,000,000 rows in 100 groups, target < 5 s and < 1 GiB.

With an argument, that many rows: ``python bench/analyze.py 10000000``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

ROWS, GROUPS = 1_000_000, 100
SECONDS, GIB = 5.0, 1.0


def write_rows(path: Path, rows: int) -> None:
    """Timings of groups with different means and spreads, interleaved."""
    random = np.random.default_rng(1)
    group = random.integers(0, GROUPS, rows)
    values = random.normal(10 + group / 1000, 1 + group / 1000)
    names = pl.Series([f"variant {index:03}" for index in range(GROUPS)])
    pl.DataFrame({"variant": names[group], "seconds": values}).write_csv(path)


def main(rows: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "times.csv"
        write_rows(path, rows)
        size = path.stat().st_size / 2**20
        command = [sys.executable, "-m", "kernsmith", "analyze", str(path)]
        command += ["--value", "seconds", "--by", "variant", "--format", "json"]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
    gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(
        f"kernsmith analyze: {rows:,} rows ({size:.0f} MiB) in {GROUPS} groups: "
        f"{seconds:.2f} s, {gib:.2f} GiB (target for {ROWS:,} rows: {SECONDS:g} s, {GIB:g} GiB)"
    )
    return int(rows == ROWS and (seconds > SECONDS or gib > GIB))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
