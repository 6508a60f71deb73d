// SPDX-License-Identifier: GPL-2.0-or-later
//! A program with counters, branches and debug information that was changed at random: whatever
//! reads it reads it or refuses it in one sentence.

mod clang;
mod damage;
#[path = "../../frontend/tests/random/mod.rs"]
mod random;

use std::sync::OnceLock;

use clang::{Folder, run, tool};
use damage::damage;
use kernsmith_profile::Image;
use kernsmith_profile::instrumented::Instrumented;
use random::{Random, inputs};

/// Files that are tried in an ordinary run.
const ORDINARY: u64 = 4_000;

/// Of more bytes of counters than this, no profile is made here: a damaged size says so.
const MOST: usize = 1 << 20;

const PROGRAM: &str = r"
int __llvm_profile_runtime;
void __llvm_profile_instrument_target(unsigned long v, void *r, unsigned s) { }
void __llvm_profile_instrument_memop(unsigned long v, void *r, unsigned s) { }
static __attribute__((noinline)) int twice(int x) { return x > 90 ? x : 2 * x; }
int never(int x) { return x + 1; }
int (*pointed)(int) = twice;
int _start(int x)
{
        int sum = 0;
        for (int i = 0; i < x; i++)
                sum += pointed(i) ^ twice(sum);
        return sum;
}
";

fn program() -> &'static [u8] {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Folder::new("damaged-images");
        let (source, target) = (folder.file("a.c", PROGRAM), folder.place("a"));
        let words = "-O2 -gmlt -nostdlib -static -fuse-ld=lld -fprofile-generate -mllvm \
                     -runtime-counter-relocation=false -mllvm -vp-static-alloc=false -nodefaultlibs -c";
        let object = folder.place("a.o");
        let mut all: Vec<&str> = words.split_whitespace().collect();
        all.extend(["-o", &object, &source]);
        run(&tool("clang"), &all);
        run(&tool("ld.lld"), &["-static", "-o", &target, &object]);
        std::fs::read(target).unwrap()
    })
}

/// Whether anything read it.
fn try_one(file: &[u8]) -> bool {
    let image = Image::read(file);
    if let Err(reason) = &image {
        assert!(reason.len() < 300 && !reason.contains('\n'), "{reason}");
    }
    let told = Instrumented::parse(file).and_then(|instrumented| {
        let bytes = instrumented.counters().bytes();
        if bytes > MOST {
            return Ok(Vec::new());
        }
        instrumented.raw_profile(&vec![0; bytes], &[])
    });
    if let Err(error) = &told {
        let reason = error.to_string();
        assert!(reason.len() < 300 && !reason.contains('\n'), "{reason}");
    }
    image.is_ok() && told.is_ok()
}

#[test]
fn damaged_images_are_read_or_refused() {
    let count = inputs(ORDINARY);
    assert!(try_one(program()));
    let mut random = Random::new(16);
    let mut good = 0;
    for _ in 0..count {
        let mut file = program().to_vec();
        damage(&mut file, &mut random);
        good += u64::from(try_one(&file));
    }
    assert!(
        good > count / 20 && good < count * 19 / 20,
        "{good} of {count} files were still read"
    );
}
