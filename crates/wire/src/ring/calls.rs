//! Counts the server's system calls before its first request, for a user whose expected system call
//! does not occur. Later ones are not counted, because nobody needs them.

use crate::ring::memory::Memory;
use std::sync::atomic::Ordering;

impl Memory {
    /// Counts a system call, in the plugin, unless a request has begun.
    pub fn count_call(&self, number: i64) {
        let header = self.header();
        if self.seen() > 0 {
            return;
        }
        let place = usize::try_from(number).ok();
        if let Some(count) = place.and_then(|place| header.calls.get(place)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the numbers of the counted system calls, and how often each was made, most frequent
    /// first.
    pub fn calls(&self) -> Vec<(u32, u32)> {
        let counts = (0..).zip(&self.header().calls);
        let counts = counts.map(|(number, count)| (number, count.load(Ordering::Relaxed)));
        let mut made: Vec<(u32, u32)> = counts.filter(|&(_, count)| count > 0).collect();
        made.sort_unstable_by_key(|&(number, count)| (std::cmp::Reverse(count), number));
        made
    }

    /// Returns the number of the server's connections so far.
    pub fn connections(&self) -> u64 {
        self.header().next_connection.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::settings::Settings;

    #[test]
    fn calls_are_counted_until_a_request_begins() {
        let (memory, _file) = Memory::create(&Settings::default()).unwrap();
        for number in [1, 0, 1, -1, i64::MAX, 511, 512] {
            memory.count_call(number);
        }
        let counted = [(1, 2), (0, 1), (511, 1)];
        assert_eq!(memory.calls(), counted);
        memory.count_mark();
        memory.count_call(1);
        assert_eq!(memory.calls(), counted);
        assert_eq!(memory.connections(), 0);
        memory.next_connection();
        assert_eq!(memory.connections(), 1);
    }
}
