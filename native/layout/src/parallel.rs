// SPDX-License-Identifier: GPL-2.0-or-later
//! Independent pieces of work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// `work(0)`, `work(1)` …, each by one of some threads; the results in this order.
pub fn in_parallel<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(result) = results.get(number) else {
                        break;
                    };
                    *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(number));
                }
            });
        }
    });
    let done = results.into_iter().map(Mutex::into_inner);
    done.filter_map(|result| result.unwrap_or_else(PoisonError::into_inner))
        .collect()
}
