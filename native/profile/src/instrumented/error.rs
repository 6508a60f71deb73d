// SPDX-License-Identifier: GPL-2.0-or-later
//! What can be wrong with a kernel that should have counters.

use std::fmt;

/// Why there is no profile of an image; a sentence that begins with the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstrumentedError {
    /// The operating system's reason.
    Unreadable(String),
    /// It is no ELF file, or one that is cut off.
    NotElf(String),
    /// It was compiled without any.
    NoCounters,
    /// The compiler writes its records in a form that is not known.
    Version(u64),
    /// The same of gcc.
    GccVersion(u32),
    /// Whose counters they are, and whose were expected.
    OtherCompiler(&'static str),
    /// What does not fit together.
    Corrupt(&'static str),
    /// What is wrong with the values that were seen.
    Values(&'static str),
    /// So many bytes of counters were given, and so many are there.
    OtherCounters { given: usize, has: usize },
}

impl fmt::Display for InstrumentedError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => write!(to, "it cannot be read: {reason}"),
            Self::NotElf(reason) => write!(to, "it is no usable ELF file: {reason}"),
            Self::NoCounters => write!(
                to,
                "it has no counters: it must be compiled with -fprofile-generate"
            ),
            Self::Version(version) => write!(
                to,
                "its compiler's counters are of version {version} of LLVM's raw profile: known is \
                 {} (clang 19 to 22)",
                super::llvm::VERSION
            ),
            Self::GccVersion(version) => {
                let version = version.to_be_bytes();
                let version = version.escape_ascii();
                write!(
                    to,
                    "its counters are of version {version} of gcov: known are gcc 12 to 15"
                )
            }
            Self::OtherCompiler(whose) => write!(to, "its counters are those of {whose}"),
            Self::Corrupt(what) => write!(to, "it is corrupt: {what}"),
            Self::Values(what) => write!(to, "the values that were seen are not its own: {what}"),
            Self::OtherCounters { given, has } => write!(
                to,
                "it has {has} bytes of counters, and {given} were read: they are of another kernel"
            ),
        }
    }
}

impl std::error::Error for InstrumentedError {}
