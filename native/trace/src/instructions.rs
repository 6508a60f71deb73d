// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the instructions of blocks begin, and their machine code.

/// The instructions of each block, by its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Block after block, in bytes.
    sizes: Vec<u8>,
    /// By block: where its first one is in `sizes`; and the end of the last.
    begins: Vec<usize>,
    /// Machine code, block after block; where nobody knows it, none.
    code: Vec<u8>,
    /// By block: where its first instruction is in `code`; and the end of the last.
    code_begins: Vec<usize>,
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
        Ok(Self {
            sizes,
            begins,
            ..Self::default()
        })
    }

    /// The same with their machine code, block after block.
    ///
    /// # Errors
    ///
    /// When it has another size than they have.
    pub fn with_code(mut self, code: Vec<u8>) -> Result<Self, String> {
        let ends = self.sizes.iter().scan(0, |end, size| {
            *end += usize::from(*size);
            Some(*end)
        });
        let ends: Vec<usize> = std::iter::once(0).chain(ends).collect();
        if ends.last() != Some(&code.len()) {
            return Err("has code of other instructions than it says".to_owned());
        }
        self.code_begins = self.begins.iter().map(|begin| ends[*begin]).collect();
        self.code = code;
        Ok(self)
    }

    /// The machine code of a block; none of a block whose code is not known.
    #[must_use]
    pub fn code(&self, block: usize) -> &[u8] {
        match self.code_begins.get(block..block + 2) {
            Some(&[begin, end]) => &self.code[begin..end],
            _ => &[],
        }
    }

    /// The same, instruction after instruction.
    pub fn each(&self, block: usize) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.code(block);
        self.sizes(block).iter().filter_map(move |size| {
            let (one, behind) = rest.split_at_checked((*size).into())?;
            rest = behind;
            Some(one)
        })
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
        let code = order.iter().flat_map(|old| self.code(*old as usize));
        let code: Vec<u8> = code.copied().collect();
        let renumbered = Self::new(sizes, counts).unwrap_or_default();
        match code.is_empty() {
            true => renumbered,
            false => renumbered.with_code(code).unwrap_or_default(),
        }
    }
}
