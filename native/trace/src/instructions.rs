// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the instructions of blocks begin.

/// The sizes of the instructions of each block, by its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Block after block, in bytes.
    sizes: Vec<u8>,
    /// By block: where its first one is in `sizes`; and the end of the last.
    begins: Vec<usize>,
}

impl Instructions {
    /// Of blocks that have so many each.
    ///
    /// # Errors
    ///
    /// When these are not all that there are.
    pub fn new(sizes: Vec<u8>, counts: impl Iterator<Item = usize>) -> Result<Self, String> {
        let mut begins = vec![0];
        let mut end = 0;
        for count in counts {
            end += count;
            begins.push(end);
        }
        if end != sizes.len() {
            return Err("has blocks of other instructions than it says".to_owned());
        }
        Ok(Self { sizes, begins })
    }

    /// The sizes of a block's instructions, first to last, in bytes; none of a block that is not
    /// known.
    #[must_use]
    pub fn sizes(&self, block: usize) -> &[u8] {
        match self.begins.get(block..block + 2) {
            Some(&[begin, end]) => &self.sizes[begin..end],
            _ => &[],
        }
    }

    /// Where a block's instructions begin, first to last: offsets from its start, in bytes.
    pub fn offsets(&self, block: usize) -> impl Iterator<Item = u16> {
        self.sizes(block).iter().scan(0_u16, |end, size| {
            let begin = *end;
            *end = end.wrapping_add(u16::from(*size));
            Some(begin)
        })
    }

    /// The same of blocks that are numbered anew: `order` has their old numbers.
    #[must_use]
    pub fn in_order(&self, order: &[u32]) -> Self {
        let of = |old: &u32| self.sizes(*old as usize);
        let counts = order.iter().map(|old| of(old).len());
        let sizes = order.iter().flat_map(of).copied().collect();
        Self::new(sizes, counts).unwrap_or_default()
    }
}
