// SPDX-License-Identifier: GPL-2.0-or-later
//! A span of the guest's memory, as it was when the region began and when it ended.
//!
//! Kernels that count what they execute keep their counters there: what was counted in the region is
//! the difference. The file has the span twice, first as it was at the beginning.

use std::path::Path;

use kernsmith_arch::Vcpu;

use crate::options::Span;
use crate::output;
use crate::vcpu::Access;

/// Words that are asked for at once.
const WORDS: usize = 1 << 16;

/// Reads the span, and writes the file.
pub struct Memory {
    access: Access,
    span: Span,
    content: Vec<u8>,
}

impl Memory {
    /// Nothing is read yet. To be called from a callback of the vCPU.
    pub fn of(span: Span) -> Option<Self> {
        Some(Self {
            access: Access::find(&[])?,
            span,
            content: Vec::new(),
        })
    }

    /// Forgets what was read before, and reads the span.
    ///
    /// # Errors
    ///
    /// One sentence: the guest has no memory there. So of [`Self::end`].
    pub fn begin(&mut self) -> Result<(), String> {
        self.content.clear();
        self.read()
    }

    /// Reads the span once more, and writes the file.
    pub fn end(mut self, file: &Path) -> Result<(), String> {
        self.read()?;
        output::write_whole(file, &self.content)
    }

    fn read(&mut self) -> Result<(), String> {
        let mut words = vec![0; WORDS];
        let mut address = self.span.start;
        while address < self.span.end {
            let left = (self.span.end - address).div_ceil(8);
            let words = &mut words[..WORDS.min(usize::try_from(left).unwrap_or(WORDS))];
            if !self.access.memory(address, words) {
                return Err(format!(
                    "the guest's memory cannot be read at {address:#x}, where its counters should be"
                ));
            }
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            self.content.extend(bytes);
            address += 8 * words.len() as u64;
        }
        Ok(())
    }
}
