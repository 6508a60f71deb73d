// SPDX-License-Identifier: GPL-2.0-or-later
//! The CPUID leaves and the XCR0 register of the processor that runs this; zeros where there are
//! none.

use pyo3::prelude::*;

/// EAX, EBX, ECX and EDX of a CPUID leaf; zeros where the processor has no such leaf.
#[pyfunction]
pub fn cpuid(leaf: u32, subleaf: u32) -> (u32, u32, u32, u32) {
    let (highest, ..) = ask(leaf & 0x8000_0000, 0);
    if leaf > highest {
        return (0, 0, 0, 0);
    }
    ask(leaf, subleaf)
}

/// XCR0: the register sets that the operating system saves. Zero where it uses no XSAVE.
#[pyfunction]
pub fn xcr0() -> u64 {
    const OSXSAVE: u32 = 1 << 27;
    let (_, _, features, _) = cpuid(1, 0);
    if features & OSXSAVE == 0 {
        return 0;
    }
    saved()
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // newer compilers know that CPUID is safe on x86-64
fn ask(leaf: u32, subleaf: u32) -> (u32, u32, u32, u32) {
    // SAFETY: every x86-64 processor has the instruction CPUID.
    let found = unsafe { std::arch::x86_64::__cpuid_count(leaf, subleaf) };
    (found.eax, found.ebx, found.ecx, found.edx)
}

#[cfg(target_arch = "x86_64")]
fn saved() -> u64 {
    // SAFETY: xcr0() asks only where OSXSAVE says that XGETBV may be executed.
    unsafe { std::arch::x86_64::_xgetbv(0) }
}

#[cfg(not(target_arch = "x86_64"))]
fn ask(_leaf: u32, _subleaf: u32) -> (u32, u32, u32, u32) {
    (0, 0, 0, 0)
}

#[cfg(not(target_arch = "x86_64"))]
fn saved() -> u64 {
    0
}
