//! Where calls end, found anew for every execution by looking through all that its thread does.

/// An execution of a code block of one instruction, no two of which lie side by side.
pub struct Seen {
    pub thread: u32,
    pub block: u32,
    /// Address of the last access, of 8 bytes, and whether it stored.
    pub last: Option<(u64, bool)>,
}

/// For each execution, the first later one of its thread by which the call that it is in has ended.
pub fn ends_of_calls(seen: &[Seen]) -> Vec<Option<usize>> {
    let mut ends = vec![None; seen.len()];
    let threads = seen.iter().map(|seen| seen.thread + 1).max().unwrap_or(0);
    for thread in 0..threads {
        let own = (0..seen.len()).filter(|&place| seen[place].thread == thread);
        let own: Vec<usize> = own.collect();
        // Return addresses of open calls before each execution, and of a call or return before it.
        let (mut open, mut left) = (vec![Vec::<u64>::new()], vec![None]);
        for pair in own.windows(2) {
            let (before, after) = (&seen[pair[0]], &seen[pair[1]]);
            let mut now: Vec<u64> = open.last().unwrap().clone();
            // A block that comes twice repeats its instruction.
            let last = before.last.filter(|_| before.block != after.block);
            let last = last.filter(|(address, store)| *store || now.contains(address));
            if let Some((address, store)) = last {
                now.retain(|&open| open > address);
                now.extend(store.then_some(address));
            }
            open.push(now);
            left.push(last.map(|(address, _)| address));
        }
        for (place, &execution) in own.iter().enumerate() {
            let Some(&address) = open[place].last() else {
                continue;
            };
            let mut later = place + 1..own.len();
            let end = later.find(|&later| left[later].is_some_and(|left| left >= address));
            ends[execution] = end.map(|end| own[end]);
        }
    }
    ends
}
