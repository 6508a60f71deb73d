// SPDX-License-Identifier: GPL-2.0-or-later
//! An image with counters: where they are, and the file that a compiler reads.

use std::path::Path;

use object::{File, Object, ObjectSection};

use super::values::{self, Seen};
use super::{InstrumentedError, gcov, llvm};

/// Addresses: the first, and the one behind the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    pub start: u64,
    pub end: u64,
}

impl Span {
    /// Its size in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        usize::try_from(self.end.saturating_sub(self.start)).unwrap_or(usize::MAX)
    }
}

/// What the compiler has put into an image.
#[derive(Debug)]
pub enum Instrumented {
    Llvm(llvm::Records),
    Gcov(gcov::Records),
}

impl Instrumented {
    /// Reads an image.
    ///
    /// # Errors
    ///
    /// See [`InstrumentedError`].
    pub fn read(path: &Path) -> Result<Self, InstrumentedError> {
        let content = std::fs::read(path);
        let content = content.map_err(|error| InstrumentedError::Unreadable(error.to_string()))?;
        Self::parse(&content)
    }

    /// Takes an image that is in memory.
    ///
    /// # Errors
    ///
    /// See [`InstrumentedError`].
    pub fn parse(content: &[u8]) -> Result<Self, InstrumentedError> {
        let file = File::parse(content).map_err(not_elf)?;
        Ok(match gcov::Records::of(&file)? {
            Some(records) => Self::Gcov(records),
            None => Self::Llvm(llvm::Records::of(&file)?),
        })
    }

    /// Where the counters are in memory: words of 8 bytes.
    #[must_use]
    pub fn counters(&self) -> Span {
        match self {
            Self::Llvm(records) => records.counters,
            Self::Gcov(records) => records.counters,
        }
    }

    /// What the counters have counted between two looks at their memory, from both, one behind the
    /// other. What lies between the counters is zero.
    ///
    /// # Errors
    ///
    /// Not as much memory as the image has counters.
    pub fn counted(&self, looks: &[u8]) -> Result<Vec<u8>, InstrumentedError> {
        let has = self.counters().bytes();
        let (before, after) = looks.split_at(looks.len() / 2);
        if before.len() != has || after.len() != has {
            let given = after.len();
            return Err(InstrumentedError::OtherCounters { given, has });
        }
        let words = |look: &[u8]| -> Vec<u64> {
            let words = look.chunks_exact(8);
            words.map(llvm::word).collect()
        };
        let pairs = words(before).into_iter().zip(words(after));
        let counted = pairs.map(|(before, after)| after.wrapping_sub(before));
        let mut counted: Vec<u8> = counted.flat_map(u64::to_le_bytes).collect();
        if let Self::Gcov(records) = self {
            records.leave_counters(&mut counted);
        }
        Ok(counted)
    }

    /// Where the functions are that clang's code shows values to; none where it shows none.
    #[must_use]
    pub fn shown_to(&self) -> &[u64] {
        match self {
            Self::Llvm(records) => &records.shown_to,
            Self::Gcov(_) => &[],
        }
    }

    /// What values were seen, from the machine's file of the calls of [`Self::shown_to`].
    ///
    /// # Errors
    ///
    /// It is no such file.
    pub fn seen(text: &str) -> Result<Vec<Seen>, InstrumentedError> {
        values::read(text)
    }

    /// LLVM's raw profile of the counters' content and of values (`.profraw`), which llvm-profdata
    /// takes.
    ///
    /// # Errors
    ///
    /// Not as many counters as the image has, or values of other functions, or they are gcc's.
    pub fn raw_profile(
        &self,
        counters: &[u8],
        seen: &[Seen],
    ) -> Result<Vec<u8>, InstrumentedError> {
        match self {
            Self::Llvm(records) => records.raw_profile(counters, seen),
            Self::Gcov(_) => Err(InstrumentedError::OtherCompiler("gcc, not clang")),
        }
    }

    /// gcc's files of the counters' values (`.gcda`), each with the name that gcc has given it; of
    /// objects of which nothing ran there are none. `seen_alone`: without the functions that never
    /// ran.
    ///
    /// # Errors
    ///
    /// Not as many counters as the image has, or they are clang's.
    pub fn gcov_files(
        &self,
        counters: &[u8],
        seen_alone: bool,
    ) -> Result<Vec<(String, Vec<u8>)>, InstrumentedError> {
        match self {
            Self::Gcov(records) => records.files(counters, seen_alone),
            Self::Llvm(_) => Err(InstrumentedError::OtherCompiler("clang, not gcc")),
        }
    }
}

/// What a program has in memory when it starts, as far as its file has it.
pub(super) struct Content<'data> {
    sections: Vec<(u64, &'data [u8])>,
}

impl<'data> Content<'data> {
    pub fn of(file: &File<'data>) -> Result<Self, InstrumentedError> {
        let mut sections = Vec::new();
        for section in file.sections().filter(|section| section.address() != 0) {
            let content = section.data().map_err(not_elf)?;
            sections.push((section.address(), content));
        }
        Ok(Self { sections })
    }

    /// So many bytes at an address.
    pub fn bytes(&self, address: u64, number: u64) -> Option<&'data [u8]> {
        let number = usize::try_from(number).ok()?;
        self.sections.iter().find_map(|(start, content)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            content.get(at..at.checked_add(number)?)
        })
    }

    pub fn u32(&self, address: u64) -> Option<u32> {
        let bytes = self.bytes(address, 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    pub fn u64(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes(address, 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// A text that ends with a zero.
    pub fn text(&self, address: u64) -> Option<String> {
        self.sections.iter().find_map(|(start, content)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            let text = content.get(at..)?.split(|byte| *byte == 0).next()?;
            Some(String::from_utf8_lossy(text).into_owned())
        })
    }
}

fn not_elf(error: object::Error) -> InstrumentedError {
    InstrumentedError::NotElf(error.to_string())
}

/// A section's address and content, if it is there and has any.
pub(super) fn section<'data>(
    file: &File<'data>,
    name: &str,
) -> Result<Option<(Span, &'data [u8])>, InstrumentedError> {
    let Some(section) = file.section_by_name(name) else {
        return Ok(None);
    };
    let content = section.data().map_err(not_elf)?;
    let start = section.address();
    let end = start
        .checked_add(section.size())
        .ok_or(InstrumentedError::Corrupt(
            "a section ends behind all memory",
        ))?;
    Ok((end > start).then_some((Span { start, end }, content)))
}
