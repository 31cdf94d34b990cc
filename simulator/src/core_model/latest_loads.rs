//! Completion times of the latest loads of a core, for references whose address comes from one of
//! them.

/// One more than the maximum of `address_from`.
const LOADS: usize = 256;

/// Times are in the unit of the model.
#[derive(Clone, Debug)]
pub(crate) struct LatestLoads {
    /// Indexed by the low 8 bits of a load's number.
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

    /// Returns when the load that an address comes from is done; 0 if it is unknown.
    #[inline(always)]
    pub fn source_done(&self, address_from: u8) -> u64 {
        match address_from {
            0 => 0,
            back => self.done[self.count.wrapping_sub(usize::from(back)) % LOADS],
        }
    }

    /// Records when the next load is done.
    #[inline(always)]
    pub fn push(&mut self, done: u64) {
        self.done[self.count % LOADS] = done;
        self.count = self.count.wrapping_add(1);
    }
}
