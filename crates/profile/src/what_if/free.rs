//! Addresses that a trace never uses, in regions of 1 GiB.
//!
//! A moved object keeps its address modulo 1 GiB unless the change says otherwise, so it keeps its
//! sets in every cache and its place on a huge page.

use corehop_simulator::ReplayOptions;
use corehop_traces::{Error, Trace};

/// log2 of the bytes of a region.
const REGION_SHIFT: u32 = 30;

/// Bytes of a region.
pub(super) const REGION_BYTES: u64 = 1 << REGION_SHIFT;

/// Bits of a virtual address of user code.
pub(super) const ADDRESS_BITS: u32 = 47;

/// The regions of all addresses of user code; the default has none.
#[derive(Clone, Default)]
pub(super) struct FreeRegions {
    /// By region.
    is_used: Vec<bool>,
}

impl FreeRegions {
    /// Reads the trace once.
    pub fn of(trace: &Trace, options: &ReplayOptions<'_>) -> Result<FreeRegions, Error> {
        let mut is_used = vec![false; 1 << (ADDRESS_BITS - REGION_SHIFT)];
        // No program has memory at 0.
        is_used[0] = true;
        let executions = trace.executions_chosen(options.requests.as_deref());
        let mut executions = match options.progress {
            Some(tell) => executions.telling(tell),
            None => executions,
        };
        while let Some(execution) = executions.next()? {
            for access in execution.accesses {
                let (_, address) = trace.owner(access.address);
                let last = address.saturating_add(access.size_bytes.into());
                for end in [address, last] {
                    if let Some(region) = is_used.get_mut((end >> REGION_SHIFT) as usize) {
                        *region = true;
                    }
                }
            }
        }
        Ok(FreeRegions { is_used })
    }

    /// Takes the lowest regions that hold so many bytes behind their start, and returns the start.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let count = usize::try_from(bytes.div_ceil(REGION_BYTES).max(1)).ok()?;
        let mut windows = self.is_used.windows(count);
        let first = windows.position(|regions| regions.iter().all(|is_used| !is_used))?;
        self.is_used[first..first + count].fill(true);
        Some((first as u64) << REGION_SHIFT)
    }
}
