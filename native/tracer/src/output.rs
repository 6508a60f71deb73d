// SPDX-License-Identifier: GPL-2.0-or-later
//! The files that are written when the region ends.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use kernsmith_frontend::{Counters, CpuModel, DataCounters};

/// The counters' file: JSON, version 1. data: of loads and stores, where they were followed.
#[must_use]
pub fn counters_json(
    model: &CpuModel,
    user_instructions: u64,
    kernel: u64,
    all: &Counters,
    data: Option<&DataCounters>,
) -> String {
    let counters = [
        ("kernel_instructions", kernel),
        ("user_instructions", user_instructions),
        ("taken_branches", all.taken_branches),
        ("conditional_branches", all.conditional_branches),
        ("branch_mispredictions", all.branch_mispredictions),
        ("indirect_mispredictions", all.indirect_mispredictions),
        ("l1i_accesses", all.l1i_accesses),
        ("l1i_misses", all.l1i_misses),
        ("l2i_misses", all.l2i_misses),
        ("itlb_misses", all.itlb_misses),
        ("stlb_misses", all.stlb_misses),
        ("rep_iterations", all.rep_iterations),
    ];
    let of_data = data.map(|data| {
        [
            ("l1d_accesses", data.l1d_accesses),
            ("l1d_misses", data.l1d_misses),
            ("l2_misses", data.l2_misses),
            ("l3_misses", data.l3_misses),
            ("dtlb_misses", data.dtlb_misses),
        ]
    });
    let counted: String = counters
        .iter()
        .chain(of_data.iter().flatten())
        .map(|(name, count)| format!("    \"{name}\": {count},\n"))
        .collect();
    format!(
        "{{\n  \"version\": 1,\n  \"tracer\": \"{}\",\n  \"cpu\": \"{}\",\n  \"counters\": {{\n\
         {counted}    \"model_cycles\": {:.3}\n  }}\n}}\n",
        env!("CARGO_PKG_VERSION"),
        model.name,
        all.cycles(model),
    )
}

/// Removes what an earlier run wrote, so that it cannot be taken for this one's.
///
/// # Errors
///
/// One sentence when the folder is missing or the old file cannot be removed.
pub fn prepare(path: &Path) -> Result<(), String> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(format!(
            "cannot write {}: its folder does not exist",
            path.display()
        ));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("cannot replace {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes the whole file or nothing: under another name first, then renamed.
///
/// # Errors
///
/// One sentence with the file and the system's reason.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    fs::write(part, content)
        .and_then(|()| fs::rename(part, path))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
