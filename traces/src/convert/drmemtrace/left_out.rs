//! What a trace cannot hold or need not, and how much of it there was.

use super::record::{kind, marker};

/// What is passed over.
#[derive(Clone, Copy)]
pub(super) enum Passed {
    Prefetch,
    Flush,
    FilteredInstruction,
    FilteredAccess,
    SkippedAccess,
    Uncompleted,
    Event,
    SequenceAbort,
    Window,
    FunctionMarker,
    CallArgument,
    ScheduleMarker,
    IdleMarker,
    NoPhysicalAddress,
    UserMarker,
    OtherFile,
}

/// Each, as it is told to people.
const NAMES: [&str; 16] = [
    "prefetches",
    "cache flushes",
    "instructions that a cache has filtered, from before the filter's end",
    "loads and stores from before the filter's end",
    "accesses that were masked out",
    "instructions that did not complete",
    "signals or interrupts and returns from them, of which only the instructions are kept",
    "aborts of restartable sequences",
    "gaps between windows of tracing",
    "markers of functions, their arguments and results",
    "arguments of system calls",
    "markers of threads that system calls schedule",
    "markers of cores that are idle or wait",
    "pages of unknown physical address",
    "markers of users",
    "files that are no traces",
];

/// How often each was passed over.
#[derive(Default)]
pub(super) struct LeftOut([u64; NAMES.len()]);

impl LeftOut {
    pub(super) fn add(&mut self, what: Passed, count: u64) {
        self.0[what as usize] += count;
    }

    /// How often this was passed over.
    pub(super) fn of(&self, what: Passed) -> u64 {
        self.0[what as usize]
    }

    /// What there was, in a fixed order.
    pub(super) fn told(&self) -> Vec<(&'static str, u64)> {
        let told = NAMES.iter().copied().zip(self.0);
        told.filter(|&(_, count)| count > 0).collect()
    }
}

/// What is passed over with a marker of which nothing is kept; `None` where it tells only how the
/// file is laid out, or what others tell as well.
pub(super) fn of_marker(sub: u16) -> Option<Passed> {
    match sub {
        marker::EVENT | marker::EVENT_END | marker::HARDWARE_EVENT | marker::HARDWARE_RETURN => {
            Some(Passed::Event)
        }
        marker::SEQUENCE_ABORT => Some(Passed::SequenceAbort),
        marker::DIRECT_SWITCH | marker::UNSCHEDULED | marker::SCHEDULED => {
            Some(Passed::ScheduleMarker)
        }
        marker::CORE_WAITS | marker::CORE_IDLE => Some(Passed::IdleMarker),
        marker::UNCOMPLETED => Some(Passed::Uncompleted),
        marker::SKIPPED_ACCESS => Some(Passed::SkippedAccess),
        marker::NO_PHYSICAL_ADDRESS => Some(Passed::NoPhysicalAddress),
        marker::FIRST_OF_USERS.. => Some(Passed::UserMarker),
        _ => None,
    }
}

/// What is passed over with a record that is neither an instruction nor a load or store.
pub(super) fn of_record(kind: u16) -> Option<Passed> {
    match kind {
        kind::FIRST_PREFETCH..=kind::LAST_PREFETCH
        | kind::HARDWARE_PREFETCH
        | kind::FIRST_HINT..=kind::LAST_HINT => Some(Passed::Prefetch),
        // One that is too long for a record has its end in a second one.
        kind::INSTRUCTION_FLUSH | kind::DATA_FLUSH => Some(Passed::Flush),
        _ => None,
    }
}
