// SPDX-License-Identifier: GPL-2.0-or-later
//! What one thread tells the next one of what is executed, in words of eight bytes.
//!
//! The address of a block's record says that the block is entered: the low bits of such addresses are
//! clear, and set in all other words.

/// Marks the first word of a frame, behind which its address stands.
const IS_FRAME: u64 = 1;

/// In the first word of a frame: whether it is a fault.
const IS_FAULT: u64 = 2;

/// Marks a load or store: see [`data`].
const IS_DATA: u64 = 4;

/// In the word of a load or store: whether it is a store.
const IS_STORE: u64 = 8;

/// Where log2 of its bytes is, in three bits.
const SIZE_AT: u32 = 4;

/// Where its address is. The bits above are all equal, with addresses of 57 bits as well.
const ADDRESS_AT: u32 = 7;

/// Beside the mark of a frame: it is none, but the number of the vCPU that goes on.
const IS_VCPU: u64 = 8;

/// Where that number is.
const VCPU_AT: u32 = 32;

/// A word that is no block's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// A load or store of the block that was entered last.
    Data {
        address: u64,
        bytes: u64,
        store: bool,
    },
    /// What follows is of this vCPU.
    Vcpu(usize),
    /// The next word is where an interrupt, or a fault, has interrupted a program.
    Frame { fault: bool },
}

/// Whether it is no block's.
#[inline(always)]
#[must_use]
pub fn is_other(word: u64) -> bool {
    word & (IS_FRAME | IS_DATA) != 0
}

/// What a word says that is no block's.
#[inline(always)]
#[must_use]
pub fn read(word: u64) -> Other {
    if word & IS_DATA != 0 {
        Other::Data {
            address: (word as i64 >> ADDRESS_AT) as u64,
            bytes: 1 << (word >> SIZE_AT & 7),
            store: word & IS_STORE != 0,
        }
    } else if word & IS_VCPU != 0 {
        Other::Vcpu((word >> VCPU_AT) as usize)
    } else {
        Other::Frame {
            fault: word & IS_FAULT != 0,
        }
    }
}

/// So many words before a block is entered, the host is asked for its record.
pub const AHEAD: usize = 12;

/// This word will be read soon, and the record that it may be the address of. It changes nothing but
/// how long that takes.
#[inline(always)]
pub fn expect(word: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has it, and it reads nothing, wherever that would be.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(word as *const i8) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

/// A load or store of so many bytes, told by their log2.
#[inline(always)]
#[must_use]
pub fn data(address: u64, size_shift: u32, store: bool) -> u64 {
    let store = if store { IS_STORE } else { 0 };
    address << ADDRESS_AT | u64::from(size_shift & 7) << SIZE_AT | store | IS_DATA
}

/// The vCPU of this number goes on.
#[must_use]
pub fn vcpu(number: u32) -> u64 {
    u64::from(number) << VCPU_AT | IS_VCPU | IS_FRAME
}

/// A frame follows.
#[must_use]
pub fn frame(fault: bool) -> u64 {
    match fault {
        true => IS_FRAME | IS_FAULT,
        false => IS_FRAME,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read() {
        let (address, bytes, store) = (0xff11_0000_0000_1234, 8, true);
        let said = Other::Data {
            address,
            bytes,
            store,
        };
        assert_eq!(read(data(address, 3, store)), said);
        assert_eq!(read(vcpu(3)), Other::Vcpu(3));
        assert_eq!(read(frame(true)), Other::Frame { fault: true });
        assert_eq!(read(frame(false)), Other::Frame { fault: false });
        let others = [data(0, 0, false), vcpu(0), frame(false), frame(true)];
        assert!(others.into_iter().all(is_other));
        assert!(!is_other(0x7f00_0000_0020));
    }
}
