// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the linker puts sections.

mod invented;

use invented::random::Random;
use invented::{START, text};
use kernsmith_layout::{Section, Step, Text};

#[test]
fn without_an_order_everything_stays_where_it_is() {
    let text = text(&mut Random::new(1), 300);
    let starts: Vec<_> = text.sections().iter().map(|one| one.start).collect();
    assert_eq!(text.place(&[]), starts);
}

#[test]
fn an_order_sorts_each_group_and_the_rest_follows() {
    let section = |start, size| Section {
        start,
        size,
        align: 16,
    };
    let sections = vec![
        section(START, 20),
        section(START + 32, 20),
        section(START + 64, 7),
        section(START + 4096, 5),
        section(START + 4112, 6),
    ];
    let steps = vec![
        Step::Group(vec![0, 1, 2]),
        Step::Align(4096),
        Step::Group(vec![3, 4]),
    ];
    let text = Text::new(START, sections, steps).expect("it is consistent");
    let placed = text.place(&[4, 2, 1, 2]);
    let offsets: Vec<_> = placed.iter().map(|start| start - START).collect();
    assert_eq!(offsets, [48, 16, 0, 4112, 4096]);
}

#[test]
fn a_shift_stands_in_front_of_its_step_and_moves_what_follows() {
    let section = |start, size, align| Section { start, size, align };
    let sections = vec![
        section(START, 20, 16),
        section(START + 20, 4, 4),
        section(START + 24, 4, 4),
        section(START + 64, 8, 64),
    ];
    let [one, two, three] = [vec![0], vec![1, 2], vec![3]].map(Step::Group);
    let steps = vec![one, two, Step::Align(64), three];
    let text = Text::new(START, sections, steps).expect("it is consistent");
    let offsets = |order: &[u32], shifts: &[(u32, u64)]| -> Vec<u64> {
        let placed = text.place_shifted(order, shifts);
        placed.iter().map(|start| start - START).collect()
    };
    assert_eq!(offsets(&[], &[]), [0, 20, 24, 64]);
    // Aligned to 16, whatever the group's sections need.
    assert_eq!(offsets(&[], &[(1, 48)]), [0, 80, 84, 128]);
    assert_eq!(offsets(&[2], &[(1, 48)]), [0, 84, 80, 128]);
    assert_eq!(offsets(&[], &[(0, 16), (2, 32)]), [16, 36, 40, 128]);
    assert_eq!(offsets(&[], &[(3, 16)]), [0, 20, 24, 128]);
    assert_eq!(offsets(&[], &[(2, 16)]), [0, 20, 24, 64]);
}

#[test]
fn impossible_texts_are_refused() {
    let section = |start, align| Section {
        start,
        size: 32,
        align,
    };
    let refused = |sections: &[Section], steps: Vec<Step>| {
        Text::new(START, sections.to_vec(), steps).expect_err("it is impossible")
    };
    let one = [section(START, 16)];
    assert!(refused(&one, vec![]).contains("in no group"));
    assert!(refused(&one, vec![Step::Group(vec![0, 0])]).contains("in two groups"));
    assert!(refused(&one, vec![Step::Group(vec![0, 7])]).contains("no section 7"));
    assert!(refused(&one, vec![Step::Align(24), Step::Group(vec![0])]).contains("24"));
    let odd = [section(START, 24)];
    assert!(refused(&odd, vec![Step::Group(vec![0])]).contains("24"));
    let both = [section(START, 16), section(START + 16, 16)];
    assert!(refused(&both, vec![Step::Group(vec![0, 1])]).contains("overlap"));
}

#[test]
fn displaced_sections_keep_their_order_and_their_place_in_a_line() {
    let text = text(&mut Random::new(12), 400);
    let placed = text.place(&[]);
    let ways = [1, 2, 1].map(|way| text.displaced(&[], 64, way));
    assert_eq!(ways[0], ways[2]);
    assert_ne!(ways[0], ways[1]);
    for way in ways {
        assert!(way.is_sorted());
        let shifts: Vec<_> = way
            .iter()
            .zip(&placed)
            .map(|(now, then)| now - then)
            .collect();
        assert!(shifts.iter().all(|shift| shift % 64 == 0));
        assert!(shifts.last() > shifts.first());
    }
}
