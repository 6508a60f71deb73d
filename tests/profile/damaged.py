# SPDX-License-Identifier: GPL-2.0-or-later
"""Images with counters that were changed at random."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from kernsmith._native import counters_span

# Numbers that parsers trip over.
NUMBERS = (0, 1, 7, 0xFF, 0xFFFF, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)


def read_or_refused(
    image: Path, sections: tuple[bytes, ...], use: Callable[[Path, bytes], object], folder: Path
) -> int:
    """Damage an image in many ways; returns how many of them were refused, each in a sentence.

    sections: names of some; most changes are made where such a name's section may be.
    use: what is done with an image that is taken, and with as many zeros as it has counters.
    """
    good, path, random = image.read_bytes(), folder / "damaged", Random(1)
    found = [good.find(name) for name in sections if name in good]
    refused = 0
    for number in range(1500):
        bad = bytearray(good)
        for _ in range(random.randrange(1, 6)):
            near = random.choice([0, 0, *found, random.randrange(len(good))])
            at = min(max(near + random.randrange(512), 0), len(good) - 8) // 8 * 8
            bad[at : at + 8] = random.choice(NUMBERS).to_bytes(8, "little")
        path.write_bytes(bad if number % 8 else bad[: random.randrange(len(bad))])
        try:
            start, end = counters_span(path)
            if end - start < 1 << 24:
                use(path, bytes(end - start))
        except ValueError as error:
            assert "\n" not in str(error) and str(error)
            refused += 1
    return refused
