// SPDX-License-Identifier: GPL-2.0-or-later
//! What can be traced: whole machines of a known architecture.

use std::ffi::CStr;

use kernsmith_arch::Architecture;

use crate::ffi::{self, Info};

/// What QEMU emulates, if that can be traced.
///
/// # Errors
///
/// One sentence: what is, and what would be.
///
/// # Safety
///
/// `info` is QEMU's own.
pub unsafe fn check(info: &Info) -> Result<&'static dyn Architecture, String> {
    // SAFETY: promised by QEMU.
    let target = unsafe { CStr::from_ptr(info.target_name) }.to_string_lossy();
    let architecture = kernsmith_arch::find(&target)?;
    if !info.system_emulation {
        return Err(format!(
            "only whole machines can be traced, not programs: use qemu-system-{target}"
        ));
    }
    if info.max_vcpus != info.smp_vcpus {
        return Err(format!(
            "all vCPUs must be there from the beginning, not {} of {}: use -smp {}",
            info.smp_vcpus, info.max_vcpus, info.max_vcpus
        ));
    }
    if !(info.version_min..=info.version_cur).contains(&ffi::API_VERSION) {
        return Err(format!(
            "this QEMU has plugin API {} to {}, and {} is needed",
            info.version_min,
            info.version_cur,
            ffi::API_VERSION
        ));
    }
    Ok(architecture)
}
