// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments: `cpu=…,out=…[,profile=…][,trace=…][,tag=…][,memory=…,span=…][,values=…,called=…][,user=on][,exact=on][,count=off][,depth=core][,image=…]`.

use std::path::PathBuf;

/// Addresses of the guest: the first, and the one behind the last. A whole number of 8 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    pub start: u64,
    pub end: u64,
}

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
    /// Where a span of the guest's memory goes, if it is wanted.
    pub memory: Option<PathBuf>,
    /// Which one.
    pub span: Span,
    /// Where the arguments of some functions go, if they are wanted.
    pub values: Option<PathBuf>,
    /// Where these functions are.
    pub called: Vec<u64>,
    /// Whether loads and stores are followed: the depth `core`.
    pub data: bool,
    /// Whether user mode is counted as well.
    pub user: bool,
    /// The kernel or program whose functions code is named by; without one, by address.
    pub image: Option<PathBuf>,
    /// Whether every instruction is counted one by one too, and the difference told.
    pub exact: bool,
    /// Whether the guest only runs: nothing is simulated, and nothing written.
    pub uncounted: bool,
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
                "memory" => options.memory = Some(value.into()),
                "span" => options.span = span(value)?,
                "values" => options.values = Some(value.into()),
                "called" => options.called = addresses(value)?,
                "image" => options.image = Some(value.into()),
                "user" => options.user = switch(key, value)?,
                "exact" => options.exact = switch(key, value)?,
                "count" => options.uncounted = !switch(key, value)?,
                "depth" => options.data = depth(value)?,
                _ => {
                    return Err(format!(
                        "argument \"{key}\" is not one of cpu, out, profile, trace, tag, \
                         memory, span, values, called, user, exact, count, depth, image"
                    ));
                }
            }
        }
        for (key, path) in [("cpu", &options.cpu), ("out", &options.out)] {
            if path.as_os_str().is_empty() {
                return Err(format!("argument {key}=FILE is missing"));
            }
        }
        if options.memory.is_some() != (options.span != Span::default()) {
            return Err("arguments memory=FILE and span=FIRST-END go together".into());
        }
        if options.values.is_some() == options.called.is_empty() {
            return Err("arguments values=FILE and called=ADDRESS go together".into());
        }
        Ok(options)
    }
}

/// `ffffffff82000000-ffffffff82001000`, as a branch profile has ranges; the end is behind the last.
fn span(value: &str) -> Result<Span, String> {
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let found = value.split_once('-').and_then(|(start, end)| {
        let (start, end) = (number(start)?, number(end)?);
        Some(Span { start, end })
    });
    found
        .filter(|span| span.start < span.end && (span.end - span.start).is_multiple_of(8))
        .ok_or_else(|| {
            format!(
                "argument span must be FIRST-END, hexadecimal and a whole number of 8 bytes, not \
                 \"{value}\""
            )
        })
}

/// `ffffffff81000000+ffffffff81000010`.
fn addresses(value: &str) -> Result<Vec<u64>, String> {
    let addresses = value
        .split('+')
        .map(|address| u64::from_str_radix(address, 16));
    let addresses: Result<_, _> = addresses.collect();
    addresses.map_err(|_| {
        format!("argument called must be hexadecimal addresses with + between, not \"{value}\"")
    })
}

/// Whether loads and stores are followed.
fn depth(value: &str) -> Result<bool, String> {
    match value {
        "core" => Ok(true),
        "frontend" => Ok(false),
        _ => Err(format!(
            "argument depth must be frontend or core, not \"{value}\""
        )),
    }
}

fn switch(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("argument {key} must be on or off, not \"{value}\"")),
    }
}
