// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts on control-flow graphs: where they come from, and that they become a flow.

mod map;

use std::path::Path;

use kernsmith_profile::propeller::address_map::Block;
use kernsmith_profile::propeller::{
    BlockOrder, Counts, Edge, Function, Graph, Graphs, Image, Regions, make, repair,
};
use map::random::Random;

const FALLS: u8 = 8;
const RETURNS: u8 = 1;

fn conserves(graph: &Graph) -> bool {
    graph.inflow() == graph.outflow() && graph.inflow() == graph.counts
}

fn edges(graph: &Graph) -> Vec<(usize, usize, u64)> {
    let edges = graph.edges.iter();
    edges.map(|edge| (edge.from, edge.to, edge.count)).collect()
}

/// A graph with a flow in it: walks from the entry to blocks that may be left.
fn flow(random: &mut Random, blocks: usize) -> Graph {
    let mut graph = Graph {
        counts: vec![0; blocks],
        entered: vec![0; blocks],
        left: vec![0; blocks],
        may_leave: (0..blocks)
            .map(|block| block + 1 == blocks || random.once_in(4))
            .collect(),
        edges: Vec::new(),
    };
    let mut taken = std::collections::BTreeMap::new();
    for block in 0..blocks - 1 {
        taken.insert((block, block + 1), 0);
        taken.insert((block, random.below(blocks as u64) as usize), 0);
    }
    let ways: Vec<(usize, usize)> = taken.keys().copied().collect();
    for _ in 0..50 {
        let (mut at, count) = (0, 1 + random.below(1000));
        graph.entered[0] += count;
        for step in 0.. {
            let leaves = graph.may_leave[at] && (random.once_in(3) || step > 100);
            if leaves || at + 1 == blocks {
                break;
            }
            let out: Vec<_> = ways.iter().copied().filter(|way| way.0 == at).collect();
            let way = if step > 100 {
                (at, at + 1)
            } else {
                random.pick(&out)
            };
            *taken.entry(way).or_insert(0) += count;
            at = way.1;
        }
        graph.left[at] += count;
    }
    let edge = |((from, to), count)| Edge {
        from,
        to,
        count,
        falls: from + 1 == to,
    };
    graph.edges = taken.into_iter().map(edge).collect();
    graph.counts = graph.inflow();
    graph
}

#[test]
fn a_flow_stays_as_it_is() {
    let mut random = Random::new(7);
    for _ in 0..200 {
        let blocks = 2 + random.below(20) as usize;
        let graph = flow(&mut random, blocks);
        assert!(conserves(&graph));
        let mut repaired = graph.clone();
        repair(&mut repaired);
        assert_eq!(repaired, graph);
    }
}

#[test]
fn any_counts_become_a_flow() {
    let mut random = Random::new(8);
    let mut broken = 0;
    for _ in 0..500 {
        let blocks = 2 + random.below(30) as usize;
        let mut graph = flow(&mut random, blocks);
        for _ in 0..1 + random.below(6) {
            let at = random.below(graph.edges.len() as u64) as usize;
            graph.edges[at].count = random.below(100_000);
        }
        broken += usize::from(!conserves(&graph));
        repair(&mut graph);
        assert!(conserves(&graph));
    }
    assert!(broken > 400, "{broken}");
}

/// One count of a flow is too small; nothing else can tell the same story with smaller changes.
#[test]
fn a_count_that_follows_from_others_is_found_again() {
    let mut random = Random::new(9);
    for _ in 0..200 {
        let blocks = 4 + random.below(20) as usize;
        let whole = flow(&mut random, blocks);
        let mut graph = whole.clone();
        let falls: Vec<usize> = (0..graph.edges.len())
            .filter(|at| graph.edges[*at].falls && graph.edges[*at].from != 0)
            .collect();
        let count = &mut graph.edges[random.pick(&falls)].count;
        *count = count.div_ceil(2);
        repair(&mut graph);
        assert_eq!(graph, whole);
    }
}

/// Blocks of 16 bytes at 0x1000: a loop over 1 and 2 with a call in 2, an exit at 3, and 4, which
/// never runs.
fn image() -> Image {
    let block = |id: u32, metadata| Block::new(id, 0x1000 + 16 * u64::from(id), 16, metadata);
    let looping = Function {
        names: vec!["looping".into(), "alias".into()],
        blocks: vec![
            block(0, FALLS),
            block(1, FALLS),
            block(2, FALLS),
            block(3, RETURNS),
            block(4, RETURNS),
        ],
        ..Function::default()
    };
    let called = Function {
        names: vec!["called".into()],
        ambiguous: true,
        module: Some("lib/called.c".into()),
        blocks: vec![
            Block::new(0, 0x2000, 8, RETURNS),
            Block::new(7, 0x2008, 8, RETURNS),
        ],
        ..Function::default()
    };
    Image {
        functions: vec![looping, called],
    }
}

/// The function is entered twice; its loop is left by a branch from 1 to 3, and goes back by one
/// from the end of 2, behind the call in it.
fn counts() -> Counts {
    Counts {
        ranges: vec![
            (0x1000, 0x101e, 2),
            (0x1010, 0x101e, 18),
            (0x1020, 0x1024, 18),
            (0x1028, 0x102e, 18),
            (0x1030, 0x103e, 2),
            (0x2000, 0x2006, 18),
        ],
        branches: vec![
            (0x9000, 0x1000, 2),
            (0x101e, 0x1030, 2),
            (0x1024, 0x2000, 18),
            (0x2006, 0x1028, 18),
            (0x102e, 0x1010, 18),
            (0x103e, 0x9004, 2),
        ],
    }
}

#[test]
fn runs_and_branches_become_counts_of_blocks_and_ways() {
    let graphs = Graphs::new(&image(), &counts());
    let graph = &graphs.graphs[0];
    assert_eq!(graph.counts, [2, 20, 18, 2, 0]);
    assert_eq!(
        edges(graph),
        [(0, 1, 2), (1, 2, 18), (1, 3, 2), (2, 1, 18), (2, 3, 0)]
    );
    assert_eq!(graph.entered, [2, 0, 0, 0, 0]);
    assert_eq!(graph.left, [0, 0, 0, 2, 0]);
    assert!(conserves(graph));
    let call = graphs.calls.iter().find(|call| call.to == 1).unwrap();
    assert_eq!(
        (call.from, call.block, call.offset, call.count),
        (0, 2, 4, 18)
    );
}

#[test]
fn a_return_to_the_begin_of_a_block_is_no_branch() {
    // The call is the last instruction of block 2; behind it is block 3.
    let counts = Counts {
        ranges: vec![
            (0x1020, 0x102b, 5),
            (0x1030, 0x103e, 5),
            (0x2000, 0x2006, 5),
        ],
        branches: vec![(0x102b, 0x2000, 5), (0x2006, 0x1030, 5)],
    };
    let graphs = Graphs::new(&image(), &counts);
    assert!(edges(&graphs.graphs[0]).contains(&(2, 3, 5)));
}

#[test]
fn files_are_as_clang_and_the_linker_read_them() {
    let regions = Regions {
        text: (0x1000, 0x3000),
        whole: Vec::new(),
    };
    let profile = make(&image(), &counts(), &regions, BlockOrder::Kept);
    assert_eq!(
        profile.clusters,
        "v1\nf looping alias\nc 0 1 2 3\nm lib/called.c\nf called\nc 0\n"
    );
    let mut symbols: Vec<&str> = profile.symbols.lines().collect();
    symbols.sort_unstable();
    assert_eq!(symbols, ["called", "looping"]);
    assert_eq!(
        (profile.functions, profile.hot_blocks, profile.blocks),
        (2, 5, 7)
    );
    assert_eq!((profile.hot_bytes, profile.bytes), (72, 96));

    // 18 times around the loop: it is cheaper to jump into its middle once.
    let turned = make(&image(), &counts(), &regions, BlockOrder::ExtTsp);
    assert!(turned.clusters.starts_with("v1\nf looping alias\nc 0 "));
    assert!(turned.clusters.contains(" 2 1 3\n") || turned.clusters.contains(" 1 2 3\n"));
}

#[test]
fn functions_of_regions_stay_in_one_piece_and_code_elsewhere_as_it_is() {
    let regions = Regions {
        text: (0x1000, 0x2000),
        whole: vec![(0x1000, 0x1100)],
    };
    let profile = make(&image(), &counts(), &regions, BlockOrder::Kept);
    assert_eq!(profile.clusters, "v1\nf looping alias\nc 0 1 2 3 4\n");
    assert_eq!(profile.symbols, "looping\n");
}

#[test]
fn a_name_that_nothing_tells_from_another_is_left_out() {
    let mut image = image();
    image.functions[1].module = None;
    let regions = Regions {
        text: (0, u64::MAX),
        whole: Vec::new(),
    };
    let profile = make(&image, &counts(), &regions, BlockOrder::ExtTsp);
    assert_eq!((profile.functions, profile.nameless), (1, 1));
    assert_eq!(profile.symbols, "looping\n");
}

#[test]
fn counts_of_nothing_make_an_empty_profile() {
    let everywhere = Regions {
        text: (0, u64::MAX),
        whole: Vec::new(),
    };
    let profile = make(
        &image(),
        &Counts::default(),
        &everywhere,
        BlockOrder::ExtTsp,
    );
    assert_eq!((profile.functions, profile.clusters.as_str()), (0, "v1\n"));
    assert!(Image::read(Path::new("/nowhere")).is_err());
}

#[test]
fn what_was_seen_stays_and_what_was_not_is_not_made_up() {
    // 0 → 1 → 2 runs 100 times and then, once, not further; 1 → 3 is a way out that nobody took.
    let edge = |(from, to, count)| Edge {
        from,
        to,
        count,
        falls: from + 1 == to,
    };
    let mut graph = Graph {
        counts: vec![100, 100, 99, 0],
        edges: [(0, 1, 100), (1, 2, 99), (1, 3, 0)].map(edge).to_vec(),
        entered: vec![100, 0, 0, 0],
        left: vec![0, 0, 99, 0],
        may_leave: vec![false, false, true, true],
    };
    repair(&mut graph);
    assert_eq!(graph.counts, [100, 100, 100, 0]);
    assert!(conserves(&graph));
}
