// SPDX-License-Identifier: GPL-2.0-or-later
//! The phases of instrumentation, and the switches between them.
//!
//! A reset of the plugin stops all threads, drops all translated code and lets the plugin decide
//! again. One word contains the phase and the number of requests being recorded in this process. So
//! no request begins while its instrumentation is being removed: it is skipped instead.

use crate::shared::{plugin, reset};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What is instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Only blocks at the request marker.
    Waiting,
    /// Still only these blocks, but a request has begun; translated code is about to be dropped.
    Arming,
    /// Everything.
    Recording,
    /// Still everything, but no request is recorded, and translated code is about to be dropped.
    Disarming,
    /// Nothing, for the rest of the process's life.
    Bare,
}

const PHASES: [Phase; 5] = [
    Phase::Waiting,
    Phase::Arming,
    Phase::Recording,
    Phase::Disarming,
    Phase::Bare,
];

/// The phase in the low bits, and the number of requests being recorded above it.
static STATE: AtomicU32 = AtomicU32::new(Phase::Waiting as u32);
const PHASE_BITS: u32 = 3;

static MARK_WAS_MET: AtomicBool = AtomicBool::new(false);

fn apart(state: u32) -> (Phase, u32) {
    let phase = PHASES.get((state & ((1 << PHASE_BITS) - 1)) as usize);
    (phase.copied().unwrap_or(Phase::Bare), state >> PHASE_BITS)
}

/// Makes a change if `of` allows it; returns the previous state.
fn change(of: impl Fn(Phase, u32) -> Option<(Phase, u32)>) -> Option<(Phase, u32)> {
    let step = |state| {
        let (phase, open) = apart(state);
        of(phase, open).map(|(phase, open)| phase as u32 | open << PHASE_BITS)
    };
    let changed = STATE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
    changed.ok().map(apart)
}

impl Phase {
    pub(crate) fn now() -> Phase {
        apart(STATE.load(Ordering::Relaxed)).0
    }
}

/// Notes that a whole machine has code with a request mark.
pub(crate) fn meet_mark() {
    MARK_WAS_MET.store(true, Ordering::Relaxed);
}

/// Instruments everything in a whole machine if a request is to be recorded soon, and returns
/// whether this is so. If QEMU is translating a block, the reset precedes its first execution: each
/// block first checks whether there is such work.
pub(crate) fn arm_if_due() -> bool {
    let is_due = MARK_WAS_MET.load(Ordering::Relaxed) && plugin().memory.is_next_near();
    let waiting = |phase, open| (phase == Phase::Waiting).then_some((Phase::Arming, open));
    if is_due && change(waiting).is_some() {
        reset();
    }
    is_due
}

/// Begins to record a request, and instruments everything if necessary. The marker's block is
/// already instrumented, and the calling thread runs no other block before the reset. Returns false
/// if the request cannot be recorded completely.
pub(crate) fn enter() -> bool {
    let before = change(|phase, open| match phase {
        Phase::Waiting => Some((Phase::Arming, 1)),
        Phase::Recording => Some((phase, open + 1)),
        Phase::Arming | Phase::Disarming | Phase::Bare => None,
    });
    if matches!(before, Some((Phase::Waiting, _))) {
        reset();
    }
    before.is_some()
}

/// Starts recording at the beginning of a program that a recorded process has executed.
pub(crate) fn go_on() {
    change(|phase, open| (phase == Phase::Waiting).then_some((Phase::Recording, open)));
}

/// Ends a recorded request.
pub(crate) fn leave() {
    change(|phase, open| Some((phase, open.saturating_sub(1))));
    rest();
}

/// Removes the instrumentation if no request is being recorded and none will be soon.
pub(crate) fn rest() {
    let memory = &plugin().memory;
    if memory.is_stopped() {
        return end();
    }
    if Phase::now() != Phase::Recording || plugin().records_a_machine {
        return;
    }
    if memory.is_next_near() {
        return;
    }
    let idle =
        |phase, open| (phase == Phase::Recording && open == 0).then_some((Phase::Disarming, 0));
    if change(idle).is_some() {
        reset();
    }
}

/// Removes all instrumentation permanently, once. In a whole machine, code that is translated
/// already keeps it (see `system`).
pub(crate) fn end() {
    let settled =
        |phase, _| matches!(phase, Phase::Recording | Phase::Waiting).then_some((Phase::Bare, 0));
    if change(settled).is_some() && !plugin().records_a_machine {
        reset();
    }
}

/// Begins the phase for which a reset was made.
pub(crate) fn arrive() -> Phase {
    change(|phase, open| match phase {
        Phase::Arming => Some((Phase::Recording, open)),
        Phase::Disarming => Some((Phase::Waiting, 0)),
        Phase::Waiting | Phase::Recording | Phase::Bare => None,
    });
    Phase::now()
}

/// Resets the state in a forked child, which continues no request or reset of its parent.
pub(crate) fn forget() {
    change(|phase, _| match phase {
        Phase::Arming => Some((Phase::Waiting, 0)),
        Phase::Disarming => Some((Phase::Recording, 0)),
        Phase::Waiting | Phase::Recording | Phase::Bare => Some((phase, 0)),
    });
}
