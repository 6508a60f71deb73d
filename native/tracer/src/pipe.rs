// SPDX-License-Identifier: GPL-2.0-or-later
//! From one thread to another: many small items, in order, and now and then something else.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Bytes in a buffer: what fits in a second-level cache beside other things.
const BYTES: usize = 128 * 1024;

/// Buffers: when all of them are full, who fills them waits. So many that three threads on two
/// processors seldom do: with 8 of them, a quarter of the time was lost to that.
const BUFFERS: usize = 128;

enum Message<T, M> {
    Items(Vec<T>),
    Other(M),
}

/// Where items go in.
pub struct Inlet<T, M> {
    current: Vec<T>,
    full: SyncSender<Message<T, M>>,
    free: Receiver<Vec<T>>,
}

/// Where they come out.
pub struct Outlet<T, M> {
    full: Receiver<Message<T, M>>,
    free: Sender<Vec<T>>,
}

/// Both ends.
#[must_use]
pub fn pipe<T, M>() -> (Inlet<T, M>, Outlet<T, M>) {
    let (full_in, full_out) = sync_channel(BUFFERS);
    let (free_in, free_out) = channel();
    for _ in 1..BUFFERS {
        let _ = free_in.send(Vec::with_capacity(items::<T>()));
    }
    let inlet = Inlet {
        current: Vec::with_capacity(items::<T>()),
        full: full_in,
        free: free_out,
    };
    let outlet = Outlet {
        full: full_out,
        free: free_in,
    };
    (inlet, outlet)
}

const fn items<T>() -> usize {
    BYTES / size_of::<T>()
}

impl<T, M> Inlet<T, M> {
    /// One more item.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.current.len() == self.current.capacity() {
            self.hand_over();
        }
        self.current.push(item);
    }

    /// Something else, which comes out behind all items that were pushed before.
    pub fn tell(&mut self, message: M) {
        self.hand_over();
        let _ = self.full.send(Message::Other(message));
    }

    /// What was pushed until now comes out.
    #[cold]
    #[inline(never)]
    pub fn hand_over(&mut self) {
        // Neither fails: the other end is there until this one is gone.
        let next = self.free.recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(items::<T>()));
        let items = std::mem::replace(&mut self.current, next);
        let _ = self.full.send(Message::Items(items));
    }
}

impl<T, M> Outlet<T, M> {
    /// Takes all that comes, in its order, until the other end is gone. of: who is given it.
    pub fn take_all<F>(
        self,
        of: &mut F,
        mut items: impl FnMut(&mut F, &[T]),
        mut other: impl FnMut(&mut F, M),
    ) {
        for message in self.full {
            match message {
                Message::Other(message) => other(of, message),
                Message::Items(mut taken) => {
                    items(of, &taken);
                    taken.clear();
                    // It is of no use any more when the other end is gone.
                    let _ = self.free.send(taken);
                }
            }
        }
    }
}
