// SPDX-License-Identifier: GPL-2.0-or-later
//! The marks of the region of interest: 8-byte NOPs that a workload executes.

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// The warm-up begins: simulate, count nothing yet.
    Arm = 1,
    /// The region begins: counters start at zero.
    Begin = 2,
    /// The region ends: counters are final.
    End = 3,
}

/// Bytes of a mark.
pub const SIZE: usize = 8;

impl Marker {
    /// `0f 1f 84 00`, then the operation and "MSK": the magic number in little-endian order.
    #[must_use]
    pub fn decode(instruction: &[u8; SIZE]) -> Option<Self> {
        let [0x0f, 0x1f, 0x84, 0x00, operation, b'M', b'S', b'K'] = instruction else {
            return None;
        };
        match operation {
            1 => Some(Self::Arm),
            2 => Some(Self::Begin),
            3 => Some(Self::End),
            _ => None,
        }
    }
}
