// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a file was recorded: the features `HEADER_HOSTNAME`, `HEADER_OSRELEASE`, `HEADER_CPUDESC`.

use super::feature;
use super::fields::Fields;

/// Of a text, at most so many characters are kept.
const LONGEST: usize = 200;

/// What perf says of the machine; empty where it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its name.
    pub host: String,
    /// Of its kernel: what `uname -r` says.
    pub release: String,
    /// Its processor, in the vendor's words.
    pub processor: String,
}

impl Origin {
    /// The numbers of the features that tell it.
    pub const FEATURES: [usize; 3] = [feature::HOSTNAME, feature::OSRELEASE, feature::CPUDESC];

    /// Takes what a feature says, if it is one of these: a text behind its length (`struct
    /// perf_header_string`). One that is cut off is left out.
    pub fn take(&mut self, number: usize, content: &[u8]) {
        let place = match number {
            feature::HOSTNAME => &mut self.host,
            feature::OSRELEASE => &mut self.release,
            feature::CPUDESC => &mut self.processor,
            _ => return,
        };
        let mut fields = Fields(content);
        let text = fields.u32().and_then(|bytes| fields.bytes(bytes.into()));
        if let Some(text) = text {
            *place = Fields(text).text().chars().take(LONGEST).collect();
        }
    }
}
