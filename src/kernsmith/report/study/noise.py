# SPDX-License-Identifier: GPL-2.0-or-later
"""The noise of real times in words, beside what layouts do."""

from __future__ import annotations

from kernsmith.document import NoiseView, StudyDocument


def noise_lines(document: StudyDocument) -> list[str]:
    """A sentence for each variant whose times were taken twice, then what disturbed them."""
    lines = [f"{each.variant}: noise: {_words(each)}" for each in document.noise]
    return [*lines, *document.disturbances]


def _words(noise: NoiseView) -> str:
    words = (
        f"two halves of the runs differ by {noise.median:.2f} % in {noise.metric} (median of "
        f"{noise.runs} binaries, at most {noise.most:.2f} %)"
    )
    if noise.spread is None:
        return words
    words += f"; layouts spread over {noise.spread:.2f} % (standard deviation)"
    if noise.agreement is not None:
        words += f" and rank alike in both halves by {noise.agreement:.2f}"
    return words
