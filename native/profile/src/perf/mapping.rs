// SPDX-License-Identifier: GPL-2.0-or-later
//! `PERF_RECORD_MMAP` and `PERF_RECORD_MMAP2`: which code is where.

use super::fields::Fields;
use super::{build_id, kind, misc};

/// What the kernel's own mapping is called; behind it stands the symbol that it begins with.
const KERNEL: &str = "[kernel.kallsyms]";

/// Code in kernel space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapping {
    /// The kernel's own.
    Kernel {
        /// Where it runs.
        start: u64,
        /// The symbol whose address tells how far the kernel has been moved; may be empty.
        symbol: String,
        /// Where that symbol is; 0 when nobody knows.
        symbol_at: u64,
        /// Hexadecimal.
        build_id: Option<String>,
    },
    /// A module's.
    Module {
        start: u64,
        bytes: u64,
        /// As perf names it: `[NAME]`, or the path of its file.
        name: String,
    },
}

impl Mapping {
    /// Reads a record; `None` when that is cut off, or no mapping in kernel space.
    #[must_use]
    pub fn read(record: u32, record_misc: u16, body: &[u8]) -> Option<Self> {
        if record_misc & misc::CPU_MODE != misc::KERNEL {
            return None;
        }
        let mut fields = Fields(body);
        fields.words(1)?;
        let (start, bytes, symbol_at) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let mut build_id = None;
        if record == kind::MMAP2 {
            let of_file = fields.bytes(24)?;
            if record_misc & misc::MMAP_BUILD_ID != 0 {
                let size = usize::from(of_file[0]).min(20);
                build_id = build_id::hexadecimal(&of_file[4..4 + size]);
            }
            fields.words(1)?;
        }
        let name = fields.text();
        Some(match name.strip_prefix(KERNEL) {
            Some(symbol) => Self::Kernel {
                start,
                symbol: symbol.to_owned(),
                symbol_at,
                build_id,
            },
            None => Self::Module { start, bytes, name },
        })
    }
}
