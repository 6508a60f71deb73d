// SPDX-License-Identifier: GPL-2.0-or-later
//! The file of `perf record`.
//!
//! Sources: `tools/perf/Documentation/perf.data-file-format.txt` and
//! `include/uapi/linux/perf_event.h` of Linux. A file is a header, the attributes of the recorded
//! events, records, and sections of features (of these, build ids are read, and what tells the
//! machine). What is piped has a short header, and everything else in records.
//!
//! Records are streamed: memory does not depend on the size of the file. Nothing in a file is
//! believed: every size is checked against what there is, and what does not fit is a reason in one
//! sentence, to be put behind the file's name.

mod attribute;
mod build_id;
mod fields;
mod header;
mod inflate;
mod mapping;
mod origin;
mod reader;
mod records;
mod sample;
mod writer;

pub use attribute::Attribute;
pub use build_id::{BuildId, hexadecimal};
pub use mapping::Mapping;
pub use origin::Origin;
pub use reader::{Item, Reader};
pub use sample::{Branches, Sample};
pub use writer::{Head, Sampled, Writer};

/// The first 8 bytes.
const MAGIC: &[u8; 8] = b"PERFILE2";

/// Those of a file from a machine of the other byte order.
const SWAPPED: &[u8; 8] = b"2ELIFREP";

/// Those of files before Linux 2.6.33 or so.
const OLD: &[u8; 8] = b"PERFFILE";

/// Bytes of a file's header, and of what is piped.
const HEADER: u64 = 104;
const PIPE_HEADER: u64 = 16;

/// `PERF_RECORD_…`: kinds of records that are read or written.
mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const HEADER_ATTR: u32 = 64;
    pub const HEADER_TRACING_DATA: u32 = 66;
    pub const HEADER_BUILD_ID: u32 = 67;
    pub const AUXTRACE: u32 = 71;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

/// `PERF_SAMPLE_…`: what a sample has, in the order in which it has it.
mod has {
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const ID: u64 = 1 << 6;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
}

/// `PERF_SAMPLE_BRANCH_…`: which branches are recorded, and with what.
mod branch {
    pub const KERNEL: u64 = 1 << 1;
    pub const ANY: u64 = 1 << 3;
    pub const HW_INDEX: u64 = 1 << 17;
}

/// `HEADER_…`: numbers of features.
mod feature {
    pub const BUILD_ID: usize = 2;
    pub const HOSTNAME: usize = 3;
    pub const OSRELEASE: usize = 4;
    pub const ARCH: usize = 6;
    pub const CPUDESC: usize = 8;
    pub const CMDLINE: usize = 11;
    pub const BRANCH_STACK: usize = 15;
    pub const COUNT: usize = 256;
}

/// `PERF_RECORD_MISC_…` of a record's header: the mode of the processor, and what else it has.
mod misc {
    pub const CPU_MODE: u16 = 7;
    pub const KERNEL: u16 = 1;
    pub const GUEST_KERNEL: u16 = 4;
    pub const GUEST_USER: u16 = 5;
    /// What a filter of perf's own left out stands in a record of lost samples, too.
    pub const LOST_BY_FILTER: u16 = 1 << 15;
    /// An MMAP2 record has a build id.
    pub const MMAP_BUILD_ID: u16 = 1 << 14;
    /// A build id says how long it is.
    pub const BUILD_ID_SIZE: u16 = 1 << 15;
}
