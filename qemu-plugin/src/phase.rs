// SPDX-License-Identifier: GPL-2.0-or-later
//! What is instrumented, and the two switches between that and nothing.
//!
//! A reset of the plugin stops all threads, drops all translated code and lets the plugin decide
//! anew. One word holds the phase and how many requests are being recorded in this process, so that
//! no request begins while its instrumentation is being taken away: it is declined instead.

use crate::shared::{plugin, reset};
use std::sync::atomic::{AtomicU32, Ordering};

/// What is instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Only blocks at the request marker.
    Waiting,
    /// The same, but a request has begun, and translated code is about to be dropped.
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

/// The phase in the low bits, above it the number of requests that are being recorded.
static STATE: AtomicU32 = AtomicU32::new(Phase::Waiting as u32);
const PHASE_BITS: u32 = 3;

fn apart(state: u32) -> (Phase, u32) {
    let phase = PHASES.get((state & ((1 << PHASE_BITS) - 1)) as usize);
    (phase.copied().unwrap_or(Phase::Bare), state >> PHASE_BITS)
}

/// Makes a change if `of` allows it; the state before.
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

/// Begins to record a request, instrumenting everything if need be: the marker's block is
/// instrumented already, and the calling thread runs no other before the reset. False when it is
/// too late or too early for a request to be recorded whole.
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

/// At the start of a program that a recorded process has executed: what it does is recorded too. At
/// the start of a machine, of which all is instrumented.
pub(crate) fn go_on() {
    change(|phase, open| (phase == Phase::Waiting).then_some((Phase::Recording, open)));
}

/// A request that was recorded has ended.
pub(crate) fn leave() {
    change(|phase, open| Some((phase, open.saturating_sub(1))));
    rest();
}

/// Takes the instrumentation away when no request is recorded and none will be soon.
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

/// Takes all instrumentation away for good, once.
pub(crate) fn end() {
    let settled =
        |phase, _| matches!(phase, Phase::Recording | Phase::Waiting).then_some((Phase::Bare, 0));
    if change(settled).is_some() {
        reset();
    }
}

/// A reset has been made: the phase it was for begins.
pub(crate) fn arrive() -> Phase {
    change(|phase, open| match phase {
        Phase::Arming => Some((Phase::Recording, open)),
        Phase::Disarming => Some((Phase::Waiting, 0)),
        Phase::Waiting | Phase::Recording | Phase::Bare => None,
    });
    Phase::now()
}

/// In a forked child, which records none of its parent's requests and makes none of its resets.
pub(crate) fn forget() {
    change(|phase, _| match phase {
        Phase::Arming => Some((Phase::Waiting, 0)),
        Phase::Disarming => Some((Phase::Recording, 0)),
        Phase::Waiting | Phase::Recording | Phase::Bare => Some((phase, 0)),
    });
}
