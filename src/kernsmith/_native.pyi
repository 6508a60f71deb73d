# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Protocol

def version() -> str: ...
def cpu_model_check(path: str | PathLike[str]) -> dict[str, Any]: ...
def cpuid(leaf: int, subleaf: int) -> tuple[int, int, int, int]: ...
def xcr0() -> int: ...
def trace_costs(
    path: str | PathLike[str], cpus: Sequence[str | PathLike[str]]
) -> list[list[dict[str, float]]]: ...

class _Code(Protocol):
    @property
    def starts(self) -> Sequence[int]: ...
    @property
    def parts(self) -> Sequence[int]: ...
    @property
    def symbols(self) -> Sequence[str]: ...
    @property
    def frames(self) -> Sequence[int]: ...
    @property
    def tree(self) -> Sequence[tuple[int | None, int]]: ...
    @property
    def switches(self) -> Sequence[int]: ...

def trace_functions(
    path: str | PathLike[str],
    cpu: str | PathLike[str],
    code: _Code,
    share: float,
    most: int,
) -> dict[str, Any]: ...
def trace_part(path: str | PathLike[str], every: int, part: str | PathLike[str]) -> None: ...
def trace_pages(path: str | PathLike[str]) -> list[tuple[int, int, int]]: ...
def perf_data_counts(
    path: str | PathLike[str],
    vmlinux: str | PathLike[str],
    instructions: bool,
    static_keys: bool,
) -> dict[str, Any]: ...
def source_coverage(
    vmlinux: str | PathLike[str], ranges: Sequence[tuple[int, int, int]]
) -> dict[str, Any]: ...
def source_functions(
    vmlinux: str | PathLike[str],
) -> tuple[list[str], list[tuple[int | None, int]], list[tuple[int, int, int]]]: ...
def direct_calls(image: str | PathLike[str]) -> list[tuple[int, int]]: ...
def perf_data_record(
    path: str | PathLike[str],
    kernel: tuple[str, str, int, int],
    workloads: Sequence[tuple[str, str | PathLike[str], str]],
    period: int,
    command: Sequence[str],
) -> tuple[int, int]: ...
def propeller_profile(
    image: str | PathLike[str],
    ranges: Sequence[tuple[int, int, int]],
    branches: Sequence[tuple[int, int, int]],
    blocks: str,
    text: tuple[int, int],
    whole: Sequence[tuple[int, int]],
) -> dict[str, Any]: ...
def propeller_carried(
    old: str | PathLike[str],
    image: str | PathLike[str],
    ranges: Sequence[tuple[int, int, int]],
    branches: Sequence[tuple[int, int, int]],
) -> dict[str, Any]: ...
def counters_span(image: str | PathLike[str]) -> tuple[int, int]: ...
def counted(image: str | PathLike[str], looks: bytes) -> bytes: ...
def gcov_files(
    image: str | PathLike[str], counters: bytes, seen_alone: bool = False
) -> list[tuple[str, bytes]]: ...
def value_functions(image: str | PathLike[str]) -> list[int]: ...
def seen_values(text: str) -> list[tuple[int, int, int, int]]: ...
def llvm_raw_profile(
    image: str | PathLike[str],
    counters: bytes,
    seen: Sequence[tuple[int, int, int, int]] = (),
) -> bytes: ...

class FunctionExchange:
    def __init__(self, good: bytes, bad: bytes, differing: Sequence[str]) -> None: ...
    @property
    def units(self) -> list[tuple[list[str], list[str]]]: ...
    @property
    def kept(self) -> dict[str, str]: ...
    def mixed(self, chosen: Sequence[str]) -> bytes: ...

class LayoutLab:
    def __init__(
        self,
        start: int,
        sections: list[tuple[int, int, int]],
        steps: list[int | list[int]],
    ) -> None: ...
    def place(self, order: list[int], shifts: list[tuple[int, int]] = []) -> list[int]: ...
    def add_trace(
        self, path: str | PathLike[str], tag: str, *, program: bool = False
    ) -> dict[str, Any]: ...
    def touched(self) -> list[int]: ...
    def pages(self, order: list[int]) -> list[tuple[int, int, int]]: ...
    def order(self, algorithm: str, movable: list[int], traces: list[int]) -> list[int]: ...
    def calls(self, movable: list[int], traces: list[int]) -> list[tuple[int, int, float]]: ...
    def pack(
        self,
        zones: list[tuple[list[int], int, int]],
        cpu: str | PathLike[str],
        traces: list[int],
        *,
        seed: int,
        threads: int,
        progress: Callable[[int], None],
    ) -> list[int]: ...
    def search(
        self,
        order: list[int],
        movable: list[int],
        cpu: str | PathLike[str],
        traces: list[int],
        *,
        evaluations: int,
        seed: int,
        threads: int,
        every: int,
        progress: Callable[[int, float], None],
    ) -> list[int]: ...
    def collisions(
        self, order: list[int], cpu: str | PathLike[str], names: Sequence[str]
    ) -> list[dict[str, Any]]: ...
    def cost(
        self,
        layouts: list[tuple[list[int], list[tuple[int, int]]]],
        cpu: str | PathLike[str],
        *,
        threads: int = 1,
        every: int = 1,
        displaced: int | None = None,
    ) -> list[list[dict[str, float]]]: ...
