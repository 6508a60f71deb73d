// SPDX-License-Identifier: GPL-2.0-or-later
//! A file as `perf record -b` would have written it, from traces.

use std::path::{Path, PathBuf};

use kernsmith_trace::Trace;

use crate::perf::{Head, Sampled, Writer};
use crate::sampler::Sampler;

/// The kernel that was traced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Hexadecimal.
    pub build_id: String,
    /// What `uname -r` says.
    pub release: String,
    /// Addresses of `_text`, and behind the last instruction.
    pub text: (u64, u64),
}

/// One trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    pub name: String,
    pub trace: PathBuf,
    /// What the trace must say that it is of.
    pub tag: String,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    pub samples: u64,
    /// Branches in the regions of interest: each `period` of one workload there is a sample.
    pub branches: u64,
}

/// The machine that writes traces.
const HOST: &str = "tcg";

/// The first workload's process; the others' follow.
const FIRST_PROCESS: u32 = 1000;

/// Writes samples of all traces, one behind the other, each as a process.
///
/// # Errors
///
/// One sentence with the file and the reason.
pub fn record(
    path: &Path,
    kernel: &Kernel,
    workloads: &[Workload],
    period: u64,
    command: &[String],
) -> Result<Recorded, String> {
    let head = Head {
        build_id: &kernel.build_id,
        host: HOST,
        release: &kernel.release,
        text: kernel.text,
        period,
        command,
    };
    let unwritten = |error| format!("{} cannot be written: {error}", path.display());
    let mut writer = Writer::create(path, &head).map_err(unwritten)?;
    let mut recorded = Recorded::default();
    let mut time = 0;
    for (pid, workload) in (FIRST_PROCESS..).zip(workloads) {
        let trace = Trace::load(&workload.trace).map_err(|error| error.to_string())?;
        if trace.facts.tag != workload.tag {
            let (path, tag) = (workload.trace.display(), &trace.facts.tag);
            return Err(format!("trace {path} is of {tag}, not of {}", workload.tag));
        }
        writer.process(pid, &workload.name).map_err(unwritten)?;
        let mut failed = None;
        let mut last = time;
        let mut sampler = Sampler::new(period, |sample| {
            last = time + sample.time;
            let sampled = Sampled {
                pid,
                time: last,
                branches: sample.branches(),
            };
            recorded.samples += 1;
            if let Err(error) = writer.sample(sampled) {
                failed.get_or_insert(error);
            }
        });
        sampler.follow(&trace);
        recorded.branches += sampler.branches;
        failed.map_or(Ok(()), Err).map_err(unwritten)?;
        time = last;
    }
    writer.finish().map_err(unwritten)?;
    Ok(recorded)
}
