//! Ends of calls, recomputed for every execution by searching all executions of its thread.

/// An execution of a code block of one instruction.
pub struct Seen {
    pub thread: u32,
    pub block: u32,
    /// Whether the instruction has one byte.
    pub short: bool,
    /// The block that is adjacent behind it.
    pub behind: Option<u32>,
    /// Address of the last access, of 8 bytes, and whether it stored.
    pub last: Option<(u64, bool)>,
    /// Whether the thread may have served an unrecorded request just before.
    pub after_gap: bool,
}

/// For each request, whether it follows one of its thread that may have been left out. `served`
/// contains thread and number of all requests, in order.
pub fn after_gaps(served: &[(u32, u64)]) -> Vec<bool> {
    let is_recorded = |number: u64| served.iter().any(|&(_, recorded)| recorded == number);
    let of_place = |place: usize| {
        let (thread, number) = served[place];
        let earlier = served[..place]
            .iter()
            .rev()
            .find(|served| served.0 == thread);
        let last = earlier.map_or(0, |served| served.1);
        (last + 1..number).any(|between| !is_recorded(between))
    };
    (0..served.len()).map(of_place).collect()
}

/// A call or return of a thread before its execution `place`.
#[derive(Clone, Copy)]
struct Leave {
    place: usize,
    address: u64,
    calls: bool,
}

/// Returns the thread's calls that are open before its execution `place`, the innermost last.
fn open_at(leaves: &[Leave], place: usize) -> Vec<Leave> {
    let before: Vec<Leave> = leaves.iter().copied().filter(|l| l.place < place).collect();
    let is_open = |&(nth, call): &(usize, &Leave)| {
        let later = &before[nth + 1..];
        call.calls && later.iter().all(|later| later.address < call.address)
    };
    let open = before.iter().enumerate().filter(is_open);
    open.map(|(_, call)| *call).collect()
}

/// For each execution, returns the first later one of its thread before which its enclosing call
/// has ended.
pub fn ends_of_calls(seen: &[Seen]) -> Vec<Option<usize>> {
    let mut ends = vec![None; seen.len()];
    let threads = seen.iter().map(|seen| seen.thread + 1).max().unwrap_or(0);
    for thread in 0..threads {
        let own = (0..seen.len()).filter(|&place| seen[place].thread == thread);
        let own: Vec<usize> = own.collect();
        let gap_before = |place: usize| {
            let gap = (0..=place).rev().find(|&gap| seen[own[gap]].after_gap);
            gap.unwrap_or(0)
        };
        let mut leaves: Vec<Leave> = Vec::new();
        for place in 1..own.len() {
            let (before, after) = (&seen[own[place - 1]], &seen[own[place]]);
            // A block that is repeated repeats its instruction.
            let goes_on = before.block == after.block || before.behind == Some(after.block);
            let Some((address, calls)) = before.last.filter(|_| !goes_on) else {
                continue;
            };
            let open = open_at(&leaves, place);
            if calls || before.short || open.iter().any(|call| call.address == address) {
                leaves.push(Leave {
                    place,
                    address,
                    calls,
                });
            }
        }
        // Returns from calls that were not observed.
        let unseen = |leave: &&Leave| {
            let gap = gap_before(leave.place - 1);
            let open = open_at(&leaves, leave.place).into_iter();
            let mut since = open.filter(|call| call.place > gap);
            !leave.calls && since.all(|call| call.address < leave.address)
        };
        for (place, &execution) in own.iter().enumerate() {
            let gap = gap_before(place);
            let open = open_at(&leaves, place + 1);
            let call = open.last().filter(|call| call.place > gap);
            let mut later = leaves.iter().filter(|leave| leave.place > place);
            let end = match call {
                Some(call) => later.find(|leave| leave.address >= call.address),
                None => later.find(unseen),
            };
            ends[execution] = end.map(|end| own[end.place]);
        }
    }
    ends
}
