//! When the latest loads of a core are done, for those whose address comes from one of them.

/// One more than `address_from` can go back.
const LOADS: usize = 256;

/// Times are in whatever unit the model counts.
#[derive(Clone, Debug)]
pub(crate) struct LatestLoads {
    /// By the last 8 bits of a load's number.
    done: Box<[u64; LOADS]>,
    count: usize,
}

impl LatestLoads {
    pub fn new() -> LatestLoads {
        LatestLoads {
            done: Box::new([0; LOADS]),
            count: 0,
        }
    }

    /// When the load is done that an address comes from; 0 where that is not known.
    #[inline(always)]
    pub fn source_done(&self, address_from: u8) -> u64 {
        match address_from {
            0 => 0,
            back => self.done[self.count.wrapping_sub(usize::from(back)) % LOADS],
        }
    }

    /// The next load is done then.
    #[inline(always)]
    pub fn push(&mut self, done: u64) {
        self.done[self.count % LOADS] = done;
        self.count = self.count.wrapping_add(1);
    }
}
