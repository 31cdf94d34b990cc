//! The page sizes of a program: small pages by default.

use crate::machine::PageSize;

/// The size of the page of each address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSizes {
    /// Start addresses and page sizes, in ascending order; the first starts at 0.
    from: Vec<(u64, PageSize)>,
}

/// Bits of a located address that hold the number of its memory.
const MEMORY: u64 = !0 << 47;

impl Default for PageSizes {
    /// Small pages everywhere.
    fn default() -> PageSizes {
        PageSizes::all(PageSize::Small)
    }
}

impl PageSizes {
    /// Pages of one size everywhere.
    pub fn all(size: PageSize) -> PageSizes {
        PageSizes {
            from: vec![(0, size)],
        }
    }

    /// Returns the same sizes, with pages of at least `size` at the addresses `first` to `last`. A
    /// page that contains one of them is included as a whole. Addresses are virtual; those of user
    /// code are the same in every process.
    #[must_use]
    pub fn at_least(&self, (first, last): (u64, u64), size: PageSize) -> PageSizes {
        let within = (1 << size.bits()) - 1;
        let (first, last) = (first & !within, last | within);
        let mut starts: Vec<u64> = self.from.iter().map(|&(start, _)| start).collect();
        starts.push(first);
        starts.extend(last.checked_add(1));
        starts.sort_unstable();
        starts.dedup();
        let size_from = |start: u64| {
            let before = self.found(start);
            match (first..=last).contains(&start) {
                true => before.max(size),
                false => before,
            }
        };
        let mut from: Vec<_> = starts.iter().map(|&at| (at, size_from(at))).collect();
        from.dedup_by_key(|&mut (_, size)| size);
        PageSizes { from }
    }

    /// Returns the size of the page of a located address.
    #[inline]
    pub fn of(&self, located: u64) -> PageSize {
        match self.from[..] {
            [(_, size)] => size,
            // The kernel's half is shared by all processes.
            _ if located >> 63 == 1 => self.found(located),
            _ => self.found(located & !MEMORY),
        }
    }

    fn found(&self, address: u64) -> PageSize {
        let after = self.from.partition_point(|&(start, _)| start <= address);
        self.from[after - 1].1
    }
}
