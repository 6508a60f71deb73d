// SPDX-License-Identifier: GPL-2.0-or-later
//! Little-endian numbers, one behind the other.

/// What of a record or section has not been read yet.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next bytes; `None` when there are not so many.
    #[inline]
    pub fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// The next number; `None` when that is cut off.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// See [`Self::u64`].
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// See [`Self::u64`].
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// The next `count` numbers of 8 bytes, unread.
    #[inline]
    pub fn words(&mut self, count: u64) -> Option<&'a [u8]> {
        self.bytes(count.checked_mul(8)?)
    }

    /// Text up to the first zero, or to the end.
    #[must_use]
    pub fn text(self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&self.0[..end.unwrap_or(self.0.len())]).into_owned()
    }
}
