// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes a file of samples with branch stacks, as `perf record -b -e branches:k` does.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{HEADER, MAGIC, branch, feature, has, kind, misc};

/// Bytes of an attribute in its fifth version (Linux 4.8), and of the section of its ids.
const ATTRIBUTE: u64 = 112;
const SECTION: u64 = 16;

/// `PERF_COUNT_HW_BRANCH_INSTRUCTIONS` of `PERF_TYPE_HARDWARE`; that it does not count programs.
const BRANCH_INSTRUCTIONS: u64 = 4;
const EXCLUDE_USER: u64 = 1 << 5;

/// A name fills a multiple of so many bytes.
const NAME: usize = 64;

const SAMPLE_TYPE: u64 = has::IP | has::TID | has::TIME | has::PERIOD | has::BRANCH_STACK;

/// What the file says before its first sample.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Of the kernel, hexadecimal.
    pub build_id: &'a str,
    /// The name of the machine, and what `uname -r` says there.
    pub host: &'a str,
    pub release: &'a str,
    /// Addresses of `_text`, and behind the last instruction.
    pub text: (u64, u64),
    /// Each so many branches there is a sample.
    pub period: u64,
    /// The command that the file says has recorded it.
    pub command: &'a [String],
}

/// A sample.
#[derive(Debug, Clone)]
pub struct Sampled<I> {
    pub pid: u32,
    pub time: u64,
    /// Where from and where to, the latest branch first.
    pub branches: I,
}

/// Writes under another name, which [`Self::finish`] changes: a file that is there is whole.
#[derive(Debug)]
pub struct Writer {
    file: BufWriter<File>,
    part: PathBuf,
    path: PathBuf,
    period: u64,
    features: Vec<(usize, Vec<u8>)>,
    body: Vec<u8>,
}

impl Writer {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn create(path: &Path, head: &Head) -> io::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&part)?);
        file.write_all(&[0; HEADER as usize])?;
        file.write_all(&attribute(head.period))?;
        let mut writer = Self {
            file,
            part,
            path: path.to_owned(),
            period: head.period,
            features: features(head),
            body: Vec::new(),
        };
        writer.kernel(head.text)?;
        Ok(writer)
    }

    /// Where the kernel is.
    fn kernel(&mut self, (start, end): (u64, u64)) -> io::Result<()> {
        self.body.clear();
        // No process, which perf writes as process −1.
        self.words(&[0xffff_ffff, start, end.wrapping_sub(start), start]);
        self.body.extend(padded("[kernel.kallsyms]_text", 8));
        self.record(kind::MMAP, misc::KERNEL)
    }

    /// The samples that follow are of this process.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        self.body.clear();
        self.words(&[both(pid)]);
        self.body.extend(padded(name, 8));
        self.record(kind::COMM, 0)
    }

    /// A sample; the program was where its latest branch led.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn sample<I>(&mut self, sample: Sampled<I>) -> io::Result<()>
    where
        I: ExactSizeIterator<Item = (u64, u64)>,
    {
        self.body.clear();
        let count = sample.branches.len() as u64;
        self.words(&[0, both(sample.pid), sample.time, self.period, count]);
        for (number, (from, to)) in sample.branches.enumerate() {
            if number == 0 {
                self.body[..8].copy_from_slice(&to.to_le_bytes());
            }
            self.words(&[from, to, 0]);
        }
        self.record(kind::SAMPLE, misc::KERNEL)
    }

    /// Writes the features and the header.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn finish(mut self) -> io::Result<()> {
        let records = HEADER + ATTRIBUTE + SECTION;
        let end = self.file.stream_position()?;
        let mut offset = end + SECTION * self.features.len() as u64;
        let mut bits = [0; feature::COUNT / 64];
        let mut sections = Vec::new();
        for (number, data) in &self.features {
            bits[number / 64] |= 1 << (number % 64);
            sections.extend([offset, data.len() as u64]);
            offset += data.len() as u64;
        }
        self.file.write_all(&bytes_of(&sections))?;
        for (_, data) in &self.features {
            self.file.write_all(data)?;
        }
        let mut header = vec![HEADER, ATTRIBUTE + SECTION, HEADER, ATTRIBUTE + SECTION];
        header.extend([records, end - records, 0, 0]);
        header.extend(bits);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(MAGIC)?;
        self.file.write_all(&bytes_of(&header))?;
        self.file.flush()?;
        fs::rename(&self.part, &self.path)
    }

    fn words(&mut self, words: &[u64]) {
        for word in words {
            self.body.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Writes what is in `body` as a record.
    fn record(&mut self, record: u32, record_misc: u16) -> io::Result<()> {
        let size = (self.body.len() + 8) as u16;
        self.file.write_all(&record.to_le_bytes())?;
        self.file.write_all(&record_misc.to_le_bytes())?;
        self.file.write_all(&size.to_le_bytes())?;
        self.file.write_all(&self.body)
    }
}

impl Drop for Writer {
    /// What was not finished goes.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.part);
    }
}

/// The event, without ids: there is only this one.
fn attribute(period: u64) -> Vec<u8> {
    let filter = branch::KERNEL | branch::ANY;
    let mut words = vec![ATTRIBUTE << 32, BRANCH_INSTRUCTIONS, period, SAMPLE_TYPE];
    words.extend([0, EXCLUDE_USER, 0, 0, 0, filter]);
    words.resize(((ATTRIBUTE + SECTION) / 8) as usize, 0);
    bytes_of(&words)
}

/// By number: what perf shows about the machine, and what ties the file to the kernel.
fn features(head: &Head) -> Vec<(usize, Vec<u8>)> {
    let mut command = (head.command.len() as u32).to_le_bytes().to_vec();
    for word in head.command {
        command.extend(text(word));
    }
    vec![
        (feature::BUILD_ID, build_id(head.build_id)),
        (feature::HOSTNAME, text(head.host)),
        (feature::OSRELEASE, text(head.release)),
        (feature::ARCH, text("x86_64")),
        (feature::CMDLINE, command),
        (feature::BRANCH_STACK, Vec::new()),
    ]
}

/// `struct perf_record_header_build_id` of the kernel.
fn build_id(id: &str) -> Vec<u8> {
    let digits = id.as_bytes().chunks_exact(2).take(20);
    let digits = digits.map(|pair| str::from_utf8(pair).unwrap_or_default());
    let mut field: Vec<u8> = digits
        .map(|pair| u8::from_str_radix(pair, 16).unwrap_or_default())
        .collect();
    let size = field.len() as u8;
    field.resize(20, 0);
    field.extend([size, 0, 0, 0]);
    let name = padded("[kernel.kallsyms]", NAME);
    let whole = 8 + 4 + field.len() + name.len();
    let mut entry = vec![0; 4];
    entry.extend((misc::KERNEL | misc::BUILD_ID_SIZE).to_le_bytes());
    entry.extend((whole as u16).to_le_bytes());
    entry.extend((-1_i32).to_le_bytes());
    entry.extend(field);
    entry.extend(name);
    entry
}

/// A text as features have it: behind its length.
fn text(text: &str) -> Vec<u8> {
    let padded = padded(text, NAME);
    let mut bytes = (padded.len() as u32).to_le_bytes().to_vec();
    bytes.extend(padded);
    bytes
}

/// A text with at least one zero behind it, up to a multiple of `align` bytes.
fn padded(text: &str, align: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() + 1).next_multiple_of(align), 0);
    bytes
}

/// A process and its only thread.
fn both(pid: u32) -> u64 {
    u64::from(pid) << 32 | u64::from(pid)
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
