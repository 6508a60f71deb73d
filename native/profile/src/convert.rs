// SPDX-License-Identifier: GPL-2.0-or-later
//! From a file of `perf record` to counts of a kernel.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use crate::image::Image;
use crate::perf::{BuildId, Item, Mapping, Origin, Reader, Sample};
use crate::tally::{Counts, Tally};

/// What of a sample is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// Its branch stack.
    Branches,
    /// Where the program was.
    Instructions,
}

/// What was found beside the counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub samples: u64,
    /// Branches of all stacks, or instruction pointers; and those of the kernel.
    pub entries: u64,
    pub inside: u64,
    /// Samples of guests, which are left out.
    pub guests: u64,
    /// Records that perf lost; samples of unknown events.
    pub lost: u64,
    pub stray: u64,
    /// Whether the file says where the kernel was, and how far that is from where it was linked.
    pub mapped: bool,
    pub moved: i64,
    /// Of the kernel, hexadecimal; `None` when the file does not say.
    pub build_id: Option<String>,
    /// Modules into which branches led, and how many did.
    pub modules: Vec<(String, u64)>,
    /// Where it was recorded.
    pub origin: Origin,
}

/// Counts, by link address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Converted {
    /// (first instruction, last instruction, times).
    pub ranges: Counts,
    /// (branch, target, times); see [`crate::EXTERNAL`].
    pub branches: Counts,
    pub report: Report,
}

/// Reads a file of samples of the kernel whose image is given.
///
/// # Errors
///
/// One sentence with the file and the reason.
pub fn convert(path: &Path, image: &Image, samples: Samples) -> Result<Converted, String> {
    let of_file = |reason: String| format!("{} {reason}", path.display());
    let file = File::open(path);
    let file = file.map_err(|error| of_file(format!("cannot be read: {error}")))?;
    convert_from(file, image, samples).map_err(of_file)
}

/// The same from any source.
///
/// # Errors
///
/// A sentence without its subject, which is the file.
pub fn convert_from(
    source: impl Read + Seek,
    image: &Image,
    samples: Samples,
) -> Result<Converted, String> {
    let mut reader = Reader::new(source)?;
    if samples == Samples::Branches && !reader.events().is_empty() && !reader.has_branches() {
        return Err(NO_STACKS.to_owned());
    }
    let mut converter = Converter::new(image, samples);
    for id in reader.build_ids() {
        converter.build_id(id)?;
    }
    while let Some(item) = reader.next_item()? {
        converter.take(item)?;
    }
    converter.report.origin = reader.origin().clone();
    converter.finish()
}

const NO_STACKS: &str = "has no branch stacks: record with perf record -b, or take its \
                         instruction pointers (--samples ip)";

/// Modules of a kernel, at most.
const MOST_MODULES: usize = 1 << 16;

struct Module {
    bytes: u64,
    name: String,
    entries: u64,
}

struct Converter<'a> {
    image: &'a Image,
    samples: Samples,
    tally: Tally,
    moved: u64,
    /// Samples that have what is counted.
    counted: u64,
    /// By address.
    modules: BTreeMap<u64, Module>,
    report: Report,
}

impl<'a> Converter<'a> {
    fn new(image: &'a Image, samples: Samples) -> Self {
        Self {
            image,
            samples,
            tally: Tally::default(),
            moved: 0,
            counted: 0,
            modules: BTreeMap::new(),
            report: Report::default(),
        }
    }

    #[inline]
    fn take(&mut self, item: Item) -> Result<(), String> {
        match item {
            Item::Sample(sample) => self.sample(sample)?,
            Item::Mapping(mapping) => self.mapping(mapping)?,
            Item::BuildId(id) => self.build_id(&id)?,
            Item::Lost(count) => self.report.lost = self.report.lost.saturating_add(count),
            Item::Stray => self.report.stray += 1,
            Item::Other => {}
        }
        Ok(())
    }

    #[inline]
    fn sample(&mut self, sample: Sample) -> Result<(), String> {
        self.report.samples += 1;
        if sample.guest {
            self.report.guests += 1;
            return Ok(());
        }
        let (code, moved) = (&self.image.code, self.moved);
        let modules = &mut self.modules;
        match (self.samples, sample.branches, sample.ip) {
            (Samples::Branches, Some(stack), _) => {
                self.counted += 1;
                self.tally
                    .add(code, moved, stack.iter(), |to| count_module(modules, to))
            }
            (Samples::Instructions, _, Some(ip)) => {
                self.counted += 1;
                if !self.tally.add_instruction(code, moved, ip)? {
                    count_module(modules, ip);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn mapping(&mut self, mapping: Mapping) -> Result<(), String> {
        match mapping {
            Mapping::Kernel {
                start,
                symbol,
                symbol_at,
                build_id,
            } => {
                let by_symbol = self.image.mark(&symbol).filter(|_| symbol_at != 0);
                let by_start = self.image.mark("_text").filter(|_| start != 0);
                let moved = by_symbol.map(|linked| symbol_at.wrapping_sub(linked));
                let moved = moved.or(by_start.map(|linked| start.wrapping_sub(linked)));
                self.moved = moved.unwrap_or(0);
                self.report.mapped |= moved.is_some();
                build_id.map_or(Ok(()), |id| self.kernel_id(&id))
            }
            Mapping::Module { start, bytes, name } => {
                let module = Module {
                    bytes,
                    name,
                    entries: 0,
                };
                if self.modules.len() < MOST_MODULES {
                    self.modules.insert(start, module);
                }
                Ok(())
            }
        }
    }

    fn build_id(&mut self, id: &BuildId) -> Result<(), String> {
        if id.is_kernel() {
            self.kernel_id(&id.id)?;
        }
        Ok(())
    }

    /// That the file is of this kernel.
    fn kernel_id(&mut self, id: &str) -> Result<(), String> {
        let own = &self.image.build_id;
        if !own.is_empty() && own != id {
            return Err(format!(
                "is of another kernel: its build id is {id}, the vmlinux's is {own}"
            ));
        }
        self.report.build_id = Some(id.to_owned());
        Ok(())
    }

    fn finish(self) -> Result<Converted, String> {
        let mut report = self.report;
        let tally = self.tally;
        if report.samples == 0 {
            return Err("has no samples".to_owned());
        }
        if report.guests == report.samples {
            return Err(
                "has samples of guests alone, and none of this machine's kernel".to_owned(),
            );
        }
        if self.counted == 0 {
            return Err(match self.samples {
                Samples::Branches => NO_STACKS.to_owned(),
                Samples::Instructions => "has no instruction pointers".to_owned(),
            });
        }
        if tally.misplaced > tally.addresses / 2 {
            let share = 100 * u128::from(tally.misplaced) / u128::from(tally.addresses);
            return Err(format!(
                "does not fit this vmlinux: at {share} % of its addresses no instruction begins"
            ));
        }
        if tally.inside == 0 {
            return Err("has no sample in the code of this kernel".to_owned());
        }
        (report.entries, report.inside) = (tally.entries, tally.inside);
        report.moved = self.moved as i64;
        let mut modules: BTreeMap<String, u64> = BTreeMap::new();
        for module in self.modules.into_values().filter(|one| one.entries > 0) {
            *modules.entry(module.name).or_default() += module.entries;
        }
        report.modules = modules.into_iter().collect();
        let (ranges, branches) = tally.counts(&self.image.code);
        Ok(Converted {
            ranges,
            branches,
            report,
        })
    }
}

/// Counts an address for the module that it is in.
#[inline]
fn count_module(modules: &mut BTreeMap<u64, Module>, address: u64) {
    // Programs are in the lower half, and most of what is not in the kernel is in programs.
    if (address as i64) < 0
        && let Some((start, module)) = modules.range_mut(..=address).next_back()
        && address - start < module.bytes
    {
        module.entries += 1;
    }
}
