//! Detects when a thread takes a line from another thread, and whether both use the same bytes.
//!
//! A thread *takes* a line with an access that makes caches exchange it: it loads or stores after
//! another thread stored since its last access, or it stores after another thread loaded since it
//! last took the line or stored to it. With a core for each thread and caches of any size, these
//! would be all exchanges, so takes depend on the trace and not on the machine.
//!
//! A take is *true sharing* if, before the thread takes the line again, it loads a byte that others
//! stored or stores one that others accessed, since its last take that was true sharing. It is
//! *false sharing* otherwise: on a separate line, the thread would not have needed it. The idea
//! is that of Dubois et al., "The detection and elimination of useless misses in multiprocessors"
//! (ISCA 1993). To compare the accessed bytes of a line once, at the end, would be simpler. But a
//! thread that prepares memory for others, or adds up their results, accesses all of it and would
//! make every line one of true sharing.

/// A thread that accesses a line. Bytes are a bit each.
#[derive(Debug)]
pub(super) struct Sharer {
    pub thread: u32,
    pub loaded: u64,
    pub stored: u64,
    /// Accesses of others since this thread's last take that was true sharing.
    others_loaded: u64,
    others_stored: u64,
    /// Whether its next access takes the line.
    lost: bool,
    /// Whether its next store takes the line.
    shares: bool,
    /// Its last take, unless that is known to be true sharing.
    take: Option<u32>,
}

/// The effect of an access on sharing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Whether it takes the line.
    pub is_take: bool,
    /// The take that this access shows to be true sharing: its own or an earlier one.
    pub is_true: Option<u32>,
}

/// The threads that access a line.
#[derive(Debug, Default)]
pub(super) struct Sharers(Vec<Sharer>);

impl Sharers {
    /// Iterates over the threads, in the order of their first accesses.
    pub fn iter(&self) -> std::slice::Iter<'_, Sharer> {
        self.0.iter()
    }

    /// Returns whether several threads access the line and one of them stores.
    pub fn share(&self) -> bool {
        self.0.len() > 1 && self.0.iter().any(|of| of.stored != 0)
    }

    /// Counts a load or a store of these bytes; `number` identifies it.
    pub fn access(&mut self, thread: u32, is_store: bool, bytes: u64, number: u32) -> Taken {
        let place = self.0.iter().position(|of| of.thread == thread);
        let place = place.unwrap_or_else(|| self.join(thread));
        let own = &mut self.0[place];
        let mut taken = Taken {
            is_take: own.lost || (is_store && own.shares),
            is_true: None,
        };
        if taken.is_take {
            own.take = Some(number);
            own.lost = false;
            own.shares = false;
        }
        let theirs = match is_store {
            true => own.others_stored | own.others_loaded,
            false => own.others_stored,
        };
        if theirs & bytes != 0 {
            taken.is_true = own.take.take();
            own.others_loaded = 0;
            own.others_stored = 0;
        }
        match is_store {
            true => own.stored |= bytes,
            false => own.loaded |= bytes,
        }
        for (other, of) in self.0.iter_mut().enumerate() {
            if other == place {
                continue;
            }
            of.shares = true;
            match is_store {
                true => {
                    of.lost = true;
                    of.others_stored |= bytes;
                }
                false => of.others_loaded |= bytes,
            }
        }
        taken
    }

    /// Adds a thread that accesses the line for the first time.
    fn join(&mut self, thread: u32) -> usize {
        let (mut loaded, mut stored) = (0, 0);
        for other in &self.0 {
            loaded |= other.loaded;
            stored |= other.stored;
        }
        self.0.push(Sharer {
            thread,
            loaded: 0,
            stored: 0,
            others_loaded: loaded,
            others_stored: stored,
            lost: stored != 0,
            shares: loaded | stored != 0,
            take: None,
        });
        self.0.len() - 1
    }
}
