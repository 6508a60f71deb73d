// SPDX-License-Identifier: GPL-2.0-or-later
//! Build ids of what was running: the feature `HEADER_BUILD_ID`, or records of their own.

use std::fmt::Write;

use super::fields::Fields;
use super::misc;

/// Bytes of a SHA-1, and of the field that it stands in.
const SHA1: usize = 20;
const FIELD: u64 = 24;

/// `struct perf_record_header_build_id`, of code in kernel space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildId {
    /// Hexadecimal.
    pub id: String,
    /// Of the file, or `[kernel.kallsyms]`.
    pub name: String,
}

impl BuildId {
    /// Reads what stands behind a record's header; `None` when that is cut off, or of a program.
    #[must_use]
    pub fn read(record_misc: u16, body: &[u8]) -> Option<Self> {
        if record_misc & misc::CPU_MODE != misc::KERNEL {
            return None;
        }
        let mut fields = Fields(body);
        fields.u32()?;
        let field = fields.bytes(FIELD)?;
        let size = if record_misc & misc::BUILD_ID_SIZE != 0 {
            usize::from(field[SHA1]).min(SHA1)
        } else {
            SHA1
        };
        let id = hexadecimal(&field[..size])?;
        let name = fields.text();
        Some(Self { id, name })
    }

    /// All of a feature's section; what is cut off is left out.
    pub fn read_all(section: &[u8]) -> Vec<Self> {
        let mut fields = Fields(section);
        let mut found = Vec::new();
        while let Some((record_misc, body)) = entry(&mut fields) {
            found.extend(Self::read(record_misc, body));
        }
        found
    }

    /// Whether it is the kernel's own.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        let file = self.name.rsplit('/').next().unwrap_or_default();
        file.starts_with("[kernel.kallsyms]") || file.starts_with("vmlinux")
    }
}

fn entry<'a>(fields: &mut Fields<'a>) -> Option<(u16, &'a [u8])> {
    fields.u32()?;
    let record_misc = fields.u16()?;
    let size = u64::from(fields.u16()?);
    Some((record_misc, fields.bytes(size.checked_sub(8)?)?))
}

/// A build id in hexadecimal; `None` when it is none: no bytes, or only zeros.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}
