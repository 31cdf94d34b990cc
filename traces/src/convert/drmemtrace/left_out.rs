//! Counts what a trace cannot contain or does not need.

use super::record::{kind, marker};

/// Something that is skipped.
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

/// The name of each in the report.
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

/// How often each was skipped.
#[derive(Default)]
pub(super) struct LeftOut([u64; NAMES.len()]);

impl LeftOut {
    pub(super) fn add(&mut self, what: Passed, count: u64) {
        self.0[what as usize] += count;
    }

    /// Returns how often this was skipped.
    pub(super) fn of(&self, what: Passed) -> u64 {
        self.0[what as usize]
    }

    /// Returns the names and counts of everything skipped, in a fixed order.
    pub(super) fn told(&self) -> Vec<(&'static str, u64)> {
        let told = NAMES.iter().copied().zip(self.0);
        told.filter(|&(_, count)| count > 0).collect()
    }
}

/// Returns what is skipped with a marker that is not kept; `None` if the marker only describes the
/// layout of the file, or repeats other markers.
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

/// Returns what is skipped with a record that is neither an instruction nor a load or store.
pub(super) fn of_record(kind: u16) -> Option<Passed> {
    match kind {
        kind::FIRST_PREFETCH..=kind::LAST_PREFETCH
        | kind::HARDWARE_PREFETCH
        | kind::FIRST_HINT..=kind::LAST_HINT => Some(Passed::Prefetch),
        // A flush that is too large for one record has a second record, which is not counted.
        kind::INSTRUCTION_FLUSH | kind::DATA_FLUSH => Some(Passed::Flush),
        _ => None,
    }
}
