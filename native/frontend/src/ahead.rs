// SPDX-License-Identifier: GPL-2.0-or-later
//! Asks the host for what will be read soon.

/// The element of this number will be read soon. It changes nothing but how long that takes.
#[inline(always)]
pub(super) fn fetch_ahead<T>(list: &[T], number: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(wanted) = list.get(number) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has it, and it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(wanted).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, number);
}
