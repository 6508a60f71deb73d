# SPDX-License-Identifier: GPL-2.0-or-later
"""What making a Propeller profile of a whole kernel costs.

    python bench/propeller.py                  # of each kernel in the cache that was trained for it
    python bench/propeller.py KERNEL COUNTS    # of one with a map of blocks, from counts of it

Seconds are of CPU time, reading the image and its debug information included, without the counts'
text; memory is the most that the process had, with them. Targets for the lab kernel: 10 s, 2 GiB.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kernsmith import paths
from kernsmith.engine.profiles import counts_beside
from kernsmith.kernel.artifact import Kernel, load_kernel, named_kernel
from kernsmith.profile import read_counts
from kernsmith.profile.propeller import make_propeller
from kernsmith.study.steps import find_step_kind

KIND = find_step_kind("propeller")


def trained() -> Iterator[tuple[Kernel, Path]]:
    """Kernels in the cache with the counts that a Propeller profile was made from."""
    for folder in sorted(paths.kernels().glob("*")):
        files = sorted((folder / "profiles").glob(f"*{KIND.suffixes[0]}"))
        counts = [path for file in files if (path := counts_beside(file, KIND)).exists()]
        kernel = load_kernel(folder)
        if kernel and counts:
            yield kernel, counts[0]


def one(kernel: Kernel, path: Path) -> None:
    """Make it, and tell what that took."""
    counts = read_counts(path)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        clusters, _ = make_propeller(counts, kernel, Path(folder) / "made")
        seconds = time.process_time() - began
        lines = clusters.read_text(encoding="utf-8").splitlines()
    functions = sum(line.startswith("f ") for line in lines)
    blocks = sum(len(line.split()) - 1 for line in lines if line.startswith("c "))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    variant = kernel.provenance["variant"]
    print(
        f"{kernel.key[:8]} {Path(variant['config']).stem:10} {functions:9,} functions "
        f"{blocks:9,} blocks {seconds:6.2f} s {most:5,} MiB",
        flush=True,
    )


def main() -> None:
    if len(sys.argv) == 3:
        one(named_kernel(sys.argv[1]), Path(sys.argv[2]))
        return
    found = list(trained())
    if not found:
        print("no kernel in the cache was trained for Propeller: kernsmith run studies/pgo.toml")
    for kernel, counts in found:
        # Each in a process of its own, whose memory is nobody else's.
        subprocess.run([sys.executable, __file__, kernel.folder, counts], check=True)


if __name__ == "__main__":
    main()
