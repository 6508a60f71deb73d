// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that were changed at random: each is read or refused in one sentence, within bounds.

mod damage;
mod invented;
#[path = "../../frontend/tests/random/mod.rs"]
mod random;

use std::io::{Cursor, Write};

use damage::damage;
use invented::*;
use kernsmith_profile::{Image, Samples, convert_from};
use random::{Random, inputs};

/// Files that are tried in an ordinary run.
const ORDINARY: u64 = 40_000;

/// Good files of every form.
fn seeds() -> Vec<Vec<u8>> {
    let stack = |n: u64| {
        [
            (TEXT + n * FUNCTION + CALL, TEXT),
            (TEXT + JZ, TEXT + n * FUNCTION),
        ]
    };
    let samples: Vec<u8> = (0..8).flat_map(|n| sample(&stack(n))).collect();
    let kernel = kernel_at(TEXT);
    let with_ids = [
        (attribute(IDENTIFIER | IP | TIME, 0, 0), vec![1, 2]),
        (attribute(IDENTIFIER | STACK, 0, 8 | HW_INDEX), vec![3]),
    ];
    let mut of_ids = record(SAMPLE, KERNEL, &words(&[1, TEXT, 5]));
    of_ids.extend(record(
        SAMPLE,
        KERNEL,
        &words(&[3, 1, 0, TEXT + JZ, TEXT, 0]),
    ));
    let all = IP | TID | TIME | ID | READ | CALLCHAIN | RAW | STACK;
    let mut fields = words(&[TEXT, 1, 2, 3, 1, 9, 2, TEXT, TEXT]);
    fields.extend(4_u32.to_le_bytes());
    fields.extend([1; 4]);
    fields.extend(words(&[1, TEXT + JZ, TEXT, 0]));
    let mut piped = b"PERFILE2".to_vec();
    piped.extend(words(&[16]));
    piped.extend(record(HEADER_ATTR, 0, &attribute(IP | STACK, 0, 8)));
    piped.extend([told(3, "web3"), told(8, "EPYC")].concat());
    piped.extend([kernel.clone(), samples.clone()].concat());
    let mut inflated = zstd::stream::Encoder::new(Vec::new(), 1).expect("an encoder");
    inflated.write_all(&samples).expect("memory");
    inflated.flush().expect("memory");
    let compressed = record(COMPRESSED, 0, inflated.get_ref());
    let id = build_id(BUILD_ID, "[kernel.kallsyms]");
    vec![
        simple(&[kernel.clone(), samples.clone()]),
        file(&with_ids, &of_ids, Some(&id)),
        file(
            &[(attribute(all, 1, 8), vec![])],
            &record(SAMPLE, KERNEL, &fields),
            None,
        ),
        piped,
        simple(&[kernel, compressed]),
    ]
}

fn try_one(image: &Image, file: &[u8], samples: Samples) -> bool {
    match convert_from(Cursor::new(file), image, samples) {
        Ok(converted) => {
            let report = converted.report;
            assert!(report.inside <= report.entries && report.entries > 0);
            let starts = converted.ranges.iter().map(|range| range.0);
            assert!(
                starts
                    .into_iter()
                    .all(|start| image.code.offset(start).is_some())
            );
            true
        }
        Err(reason) => {
            assert!(reason.len() < 300 && !reason.contains('\n'), "{reason}");
            false
        }
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    let count = inputs(ORDINARY);
    let (seeds, image) = (seeds(), image());
    for seed in &seeds {
        let read = convert_from(Cursor::new(seed), &image, Samples::Branches);
        read.expect("a good file");
    }
    let mut random = Random::new(14);
    let mut good = 0;
    for _ in 0..count {
        let mut file = seeds[random.below(seeds.len() as u64) as usize].clone();
        damage(&mut file, &mut random);
        let samples = random.pick(&[Samples::Branches, Samples::Branches, Samples::Instructions]);
        good += u64::from(try_one(&image, &file, samples));
    }
    // Otherwise nothing but headers would have been tried.
    assert!(
        good > count / 20,
        "only {good} of {count} files were still read"
    );
    assert!(
        good < count * 19 / 20,
        "{good} of {count} files were still read"
    );
}
