# SPDX-License-Identifier: GPL-2.0-or-later
"""What BOLT must leave alone in a real kernel."""

import pytest

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.bolt import patched_functions
from kernsmith.kernel.symbols import is_function, read_system_map
from kernsmith.kernel.toolchain import find_toolchain

pytestmark = pytest.mark.kernel


def test_functions_with_constants_of_the_running_kernel_are_known(micro_kernel: Kernel) -> None:
    symbols = read_system_map(micro_kernel.system_map)
    readelf = find_toolchain().tool("llvm-readelf")
    found = patched_functions(readelf, micro_kernel.vmlinux, symbols)
    assert {"__d_lookup", "__d_lookup_rcu", "___d_drop"} <= set(found)
    assert set(found) <= {symbol.name for symbol in symbols if is_function(symbol)}
    assert len(found) < 300
