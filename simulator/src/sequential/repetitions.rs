//! Repeated references, which change no cache and need not be simulated.
//!
//! A reference changes nothing if it repeats the previous one of its set partition, by the same
//! core and of the same kind; a load after a store changes nothing either ([`TraceFilter`] says
//! why). It also hits in the first level, so that only its count is of interest.

use crate::ids::{CoreId, LineId};
use corehop_traces::{LineReference, TraceFilter};

/// No reference: the highest bits of a reference are zero.
const NONE: u64 = u64::MAX;

/// The last reference of each set partition.
pub(super) struct Repetitions {
    /// Number of set partitions minus one; the number is a power of two.
    mask: usize,
    /// The core of all references.
    core: CoreId,
    /// By set partition: [`LineReference::bits`], and the line's id.
    last: [(u64, LineId); TraceFilter::MAX_SET_PARTITIONS],
}

impl Repetitions {
    /// Before the first reference.
    pub fn new(set_partition_count: u64) -> Repetitions {
        Repetitions {
            mask: set_partition_count as usize - 1,
            core: CoreId(0),
            last: [(NONE, LineId(0)); TraceFilter::MAX_SET_PARTITIONS],
        }
    }

    /// Notes that this core makes the next references.
    #[inline]
    pub fn on_core(&mut self, core: CoreId) {
        if core != self.core {
            self.core = core;
            self.last.fill((NONE, LineId(0)));
        }
    }

    #[inline]
    fn last_of(&mut self, line: u64) -> &mut (u64, LineId) {
        &mut self.last[line as usize & (self.mask % TraceFilter::MAX_SET_PARTITIONS)]
    }

    /// Returns the id of the line if this reference changes nothing.
    #[inline]
    pub fn find(&mut self, reference: LineReference) -> Option<LineId> {
        let (last, id) = *self.last_of(reference.line());
        reference.repeats(last).then_some(id)
    }

    /// Adds a reference that is simulated.
    #[inline]
    pub fn add(&mut self, reference: LineReference, id: LineId) {
        *self.last_of(reference.line()) = (reference.bits(), id);
    }
}
