//! Objects on the heap: when they begin and end, and which call of an allocator made them.
//!
//! A recorder observes the calls of allocator functions from the server's start. An object begins
//! when the outermost such call returns, and ends when its deallocation is entered, so what an
//! allocator itself does to memory belongs to no object. Both take a stamp, so that a reader knows
//! the objects of each run without a position in any thread.

use crate::model::malformed::Malformed;

/// The bits of a user address.
const ADDRESS_BITS: u32 = 47;

/// An object begins, or bytes belong to no object from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapEvent {
    /// The operating system's number of the process.
    pub process_id: u32,
    /// The event precedes runs with this stamp and later ones; 0 for objects from before the
    /// process was recorded. If stamps are equal, events happen in trace order.
    pub since: u64,
    /// The first byte.
    pub address: u64,
    /// Number of bytes. If no object begins, 0 means the object that begins at `address`. If these
    /// bytes are a part of an object, what remains before and behind them are objects.
    pub size_bytes: u64,
    /// The object that begins, which ends every object that overlaps it; `None` if none does.
    pub object: Option<AllocatedObject>,
}

/// The call that made an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocatedObject {
    /// The function, as an index into [`Trace::allocators`](crate::Trace::allocators).
    pub allocator: u16,
    /// Guest address behind the call.
    pub site: u64,
}

impl HeapEvent {
    /// Returns whether all bytes have user addresses.
    pub fn is_possible(&self) -> bool {
        let end = self.address.checked_add(self.size_bytes);
        end.is_some_and(|end| self.address >> ADDRESS_BITS == 0 && end <= 1 << ADDRESS_BITS)
    }

    /// Checks that all bytes have user addresses, and that one of `allocators` made the object.
    pub(crate) fn check(&self, allocators: usize) -> Result<(), Malformed> {
        let (address, size_bytes) = (self.address, self.size_bytes);
        if !self.is_possible() {
            return Err(Malformed::NoHeap {
                address,
                size_bytes,
            });
        }
        match self.object {
            Some(object) if usize::from(object.allocator) >= allocators => {
                let allocator = object.allocator;
                Err(Malformed::NoSuchAllocator { allocator })
            }
            _ => Ok(()),
        }
    }
}
