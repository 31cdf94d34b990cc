//! Determines which arguments point to objects that outlive a request.
//!
//! A core caches an object's lines for its next call, so the object must still exist in the next
//! request. Its address does not show this: a string created by each request often has the address
//! of the previous one. Loads show it. From an object that outlives requests, a call loads bytes
//! that were not stored in this request. From an object that was just created, it loads only bytes
//! that this request has stored. So the loads of each call from the 16 bytes that contain its
//! argument's address are compared with its request's stores there. A call without such loads shows
//! nothing. Rejected: recognizing the allocator's functions, because each program may have its own.

use super::object::{Object, ObjectArgument, calls_of, objects_of};
use crate::error::Error;
use corehop_traces::{
    ARGUMENTS, Access, EnteredCall, Execution, FunctionId, Kind, RequestId, Tell, Trace,
};
use std::collections::HashMap;

const GRANULE_BYTES: u64 = 16;

/// Size of a filter by the lowest bits of a granule. Most accesses are to no object, and the filter
/// detects most of them.
const HINTS: usize = 1 << 16;

/// Counts, for these arguments of `functions`, the calls whose object is older than the request,
/// and those whose object was created by it.
pub fn count(
    trace: &Trace,
    functions: &[FunctionId],
    arguments: &mut [ObjectArgument],
    tell: Tell<'_>,
) -> Result<(), Error> {
    let (place_of, calls) = calls_of(trace, functions)?;
    let mut lifetimes = Lifetimes::new(trace, functions, (place_of, &calls));
    let executions = trace.executions().with_virtual_addresses();
    let mut executions = executions.telling(tell);
    while let Some(execution) = executions.next()? {
        lifetimes.execution(&execution);
    }
    lifetimes.finish();
    for argument in arguments {
        let place = lifetimes.place_of[argument.function.index()];
        let number = usize::from(argument.argument.number()) - 1;
        let counts = lifetimes.counts[place.expect("each is of these functions")][number];
        [argument.lasting, argument.renewed] = counts;
    }
    Ok(())
}

/// Bytes of an object that a request has stored.
#[derive(Default)]
struct Stored {
    request: Option<RequestId>,
    bytes: u16,
}

/// What a call has loaded from an object.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Loaded {
    #[default]
    Nothing,
    /// Only bytes that its request has stored.
    Renewed,
    /// Bytes from before its request.
    Lasting,
}

/// A call in progress on a thread.
struct Call {
    objects: [Option<Object>; ARGUMENTS],
    loaded: [Loaded; ARGUMENTS],
}

struct Lifetimes<'c> {
    trace: &'c Trace,
    /// By function of the trace, its index among the counted functions.
    place_of: Vec<Option<usize>>,
    /// The calls not yet processed.
    calls: &'c [EnteredCall],
    hints: Vec<bool>,
    stored: HashMap<Object, Stored>,
    /// By thread and function: the call in progress.
    current: Vec<Vec<Option<Call>>>,
    /// By function and argument: calls with an object older than the request, and with a new one.
    counts: Vec<[[u64; 2]; ARGUMENTS]>,
}

impl<'c> Lifetimes<'c> {
    fn new(
        trace: &'c Trace,
        functions: &[FunctionId],
        (place_of, calls): (Vec<Option<usize>>, &'c [EnteredCall]),
    ) -> Lifetimes<'c> {
        let (mut hints, mut stored) = (vec![false; HINTS], HashMap::new());
        let objects = calls.iter().flat_map(|call| objects_of(trace, call));
        for object in objects.flatten() {
            hints[object.1 as usize % HINTS] = true;
            stored.entry(object).or_insert_with(Stored::default);
        }
        let threads = trace.threads().iter();
        let of_thread = |_| functions.iter().map(|_| None).collect();
        Lifetimes {
            trace,
            place_of,
            calls,
            hints,
            stored,
            current: threads.map(of_thread).collect(),
            counts: vec![[[0; 2]; ARGUMENTS]; functions.len()],
        }
    }

    fn execution(&mut self, execution: &Execution<'_>) {
        let thread = execution.thread.index();
        let request = execution
            .request
            .filter(|request| self.trace.requests()[request.index()].complete);
        let entered = execution
            .entry
            .and_then(|entry| self.place_of[entry.index()]);
        if let Some(place) = entered {
            // Calls have the order of the trace, like their executions.
            let (call, rest) = self.calls.split_first().expect("each entry is a call");
            self.calls = rest;
            let begun = request.map(|_| Call {
                objects: objects_of(self.trace, call),
                loaded: Default::default(),
            });
            self.change(thread, place, begun);
        }
        let Some(request) = request else {
            self.leave(thread);
            return;
        };
        let process = self.trace.threads()[thread].process_id;
        for access in execution.accesses {
            self.access(access, (thread, process, request));
        }
    }

    fn access(&mut self, access: &Access, (thread, process, request): (usize, u32, RequestId)) {
        if access.kind == Kind::Fetch {
            return;
        }
        let first = access.address;
        let last = first.saturating_add(u64::from(access.size_bytes.max(1)) - 1);
        for granule in first / GRANULE_BYTES..=last / GRANULE_BYTES {
            if !self.hints[granule as usize % HINTS] {
                continue;
            }
            let object = (process, granule);
            let Some(stored) = self.stored.get_mut(&object) else {
                continue;
            };
            let start = granule * GRANULE_BYTES;
            let bytes = (first.max(start)..=last.min(start + GRANULE_BYTES - 1))
                .fold(0, |bytes, address| bytes | 1 << (address - start));
            if stored.request.replace(request) != Some(request) {
                stored.bytes = 0;
            }
            if access.kind == Kind::Store {
                stored.bytes |= bytes;
                continue;
            }
            let loaded = match bytes & !stored.bytes {
                0 => Loaded::Renewed,
                _ => Loaded::Lasting,
            };
            for call in self.current[thread].iter_mut().flatten() {
                for (of, seen) in call.objects.iter().zip(&mut call.loaded) {
                    if *of == Some(object) {
                        *seen = loaded.max(*seen);
                    }
                }
            }
        }
    }

    /// Ends the thread's call of a function, if there is one, and begins the next, if given.
    fn change(&mut self, thread: usize, place: usize, begun: Option<Call>) {
        let ended = std::mem::replace(&mut self.current[thread][place], begun);
        let loaded = ended.into_iter().flat_map(|call| call.loaded);
        for (counts, loaded) in self.counts[place].iter_mut().zip(loaded) {
            match loaded {
                Loaded::Nothing => {}
                Loaded::Lasting => counts[0] += 1,
                Loaded::Renewed => counts[1] += 1,
            }
        }
    }

    /// Ends all calls of a thread that serves no request.
    fn leave(&mut self, thread: usize) {
        for place in 0..self.counts.len() {
            self.change(thread, place, None);
        }
    }

    fn finish(&mut self) {
        (0..self.current.len()).for_each(|thread| self.leave(thread));
    }
}
