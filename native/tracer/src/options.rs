// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments: `cpu=…,out=…[,profile=…][,trace=…][,tag=…][,user=on][,exact=on]`.

use std::path::PathBuf;

/// Parsed arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The CPU model's file.
    pub cpu: PathBuf,
    /// Where the counters go.
    pub out: PathBuf,
    /// Where the branch profile goes, if one is wanted.
    pub profile: Option<PathBuf>,
    /// Where the trace goes, if one is wanted.
    pub trace: Option<PathBuf>,
    /// What the trace is told to be of.
    pub tag: String,
    /// Whether user mode is counted as well.
    pub user: bool,
    /// Whether every instruction is counted one by one too, and the difference told.
    pub exact: bool,
}

impl Options {
    /// Parses `key=value` arguments.
    ///
    /// # Errors
    ///
    /// One sentence that names the argument and what is allowed.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut options = Self::default();
        for argument in arguments {
            let (key, value) = argument
                .split_once('=')
                .ok_or_else(|| format!("argument \"{argument}\" must be KEY=VALUE"))?;
            match key {
                "cpu" => options.cpu = value.into(),
                "out" => options.out = value.into(),
                "profile" => options.profile = Some(value.into()),
                "trace" => options.trace = Some(value.into()),
                "tag" => value.clone_into(&mut options.tag),
                "user" => options.user = switch(key, value)?,
                "exact" => options.exact = switch(key, value)?,
                _ => {
                    return Err(format!(
                        "argument \"{key}\" is not one of cpu, out, profile, trace, tag, \
                         user, exact"
                    ));
                }
            }
        }
        for (key, path) in [("cpu", &options.cpu), ("out", &options.out)] {
            if path.as_os_str().is_empty() {
                return Err(format!("argument {key}=FILE is missing"));
            }
        }
        Ok(options)
    }
}

fn switch(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("argument {key} must be on or off, not \"{value}\"")),
    }
}
