// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects of which nothing ran in training: they take no profile.
//!
//! kbuild gives all objects a profile's flags. One that the profile says nothing of is compiled as
//! without them: it is the same as in a kernel without a profile, byte for byte, and ccache has it.
//! For the same reason it has no map of basic blocks, which Propeller would have nothing to say of.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The variable that names the list: objects, one a line, as kbuild names them.
pub const LIST: &str = "KERNSMITH_IDLE_OBJECTS";

/// What `scripts/Makefile.autofdo` gives beside the profile, behind it.
const BESIDE: [&[u8]; 2] = [b"-ffunction-sections", b"-fsplit-machine-functions"];

/// What the step gives (`study/steps/autofdo.py`).
const ALONE: [&[u8]; 1] = [b"-fprofile-sample-accurate"];

/// The same, behind `-mllvm`.
const BACK_END: [&[u8]; 2] = [
    b"-enable-ext-tsp-block-placement=",
    b"-profile-summary-cutoff-hot=",
];

/// What `scripts/Makefile.propeller` gives: a map of basic blocks, or the profile that was made from
/// one with a word behind it.
const MAPS: [&[u8]; 2] = [
    b"-fbasic-block-address-map",
    b"-fbasic-block-sections=labels",
];
const CLUSTERS: &[u8] = b"-fbasic-block-sections=list=";
const BESIDE_CLUSTERS: &[u8] = b"-ffunction-sections";

/// Takes the profile's words away when the object that they make is in the list.
pub fn without_profile(words: &mut Vec<OsString>, list: &Path) {
    let names = fs::read(list).unwrap_or_default();
    let mut pairs = words.windows(2).filter(|pair| pair[0] == "-o");
    let Some(object) = pairs.next().map(|pair| pair[1].as_bytes().to_vec()) else {
        return;
    };
    if names
        .split(|byte| *byte == b'\n')
        .any(|name| name == object)
    {
        strip(words);
    }
}

fn strip(words: &mut Vec<OsString>) {
    let Some(at) = words
        .iter()
        .position(|word| word.as_bytes().starts_with(b"-fprofile-sample-use="))
    else {
        return;
    };
    words.remove(at);
    for beside in BESIDE {
        if words.get(at).is_some_and(|word| word.as_bytes() == beside) {
            words.remove(at);
        }
    }
    // The step's own words stand behind all others of the variant's: each goes once, from behind.
    for alone in ALONE {
        if let Some(at) = words.iter().rposition(|word| word.as_bytes() == alone) {
            words.remove(at);
        }
    }
    for option in BACK_END {
        let found = words
            .windows(2)
            .rposition(|pair| pair[0] == "-mllvm" && pair[1].as_bytes().starts_with(option));
        if let Some(at) = found {
            words.drain(at..at + 2);
        }
    }
    strip_blocks(words);
}

fn strip_blocks(words: &mut Vec<OsString>) {
    words.retain(|word| !MAPS.contains(&word.as_bytes()));
    let is_profile = |word: &OsString| word.as_bytes().starts_with(CLUSTERS);
    if let Some(at) = words.iter().position(is_profile) {
        words.remove(at);
        if words
            .get(at)
            .is_some_and(|word| word.as_bytes() == BESIDE_CLUSTERS)
        {
            words.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn an_idle_object_is_compiled_as_without_a_profile() {
        let plain = "-O2 -fdebug-info-for-profiling -gmlt -ffunction-sections -c -o fs/idle.o x.c";
        let with = "-O2 -fdebug-info-for-profiling -gmlt -fprofile-sample-use=/p/x.afdo \
                    -ffunction-sections -fsplit-machine-functions -ffunction-sections \
                    -fprofile-sample-accurate -mllvm -enable-ext-tsp-block-placement=true -mllvm \
                    -profile-summary-cutoff-hot=900000 -c -o fs/idle.o x.c";
        let list = std::env::temp_dir().join(format!("idle-{}", std::process::id()));
        fs::write(&list, "fs/other.o\nfs/idle.o\n").expect("a list");
        for blocks in [
            "",
            "-fbasic-block-address-map ",
            "-fbasic-block-sections=labels ",
            "-fbasic-block-sections=list=/p/x_cc_profile.txt -ffunction-sections ",
        ] {
            let accurate = format!("{blocks}-fprofile-sample-accurate");
            let mut idle = words(&with.replace("-fprofile-sample-accurate", &accurate));
            without_profile(&mut idle, &list);
            assert_eq!(idle, words(plain));
        }
        let mut ran = words(&with.replace("fs/idle.o", "fs/ran.o"));
        let before = ran.clone();
        without_profile(&mut ran, &list);
        assert_eq!(ran, before);
        fs::remove_file(list).expect("it is there");
    }

    #[test]
    fn without_a_list_nothing_changes() {
        let mut given = words("-fprofile-sample-use=x -c -o a.o a.c");
        let before = given.clone();
        without_profile(&mut given, Path::new("/no/such/list"));
        assert_eq!(given, before);
    }
}
