//! A core of the naive event simulation, and its clock by one of the core models.

use crate::case::Case;
use crate::interval::Naive as Interval;
use corehop_simulator::Machine;
use corehop_timed::CoreOutcome;
use corehop_traces::Kind;

#[derive(Clone)]
pub struct Core {
    pub clock: Clock,
    /// The connection whose thread runs.
    pub runs: Option<usize>,
    pub busy: u64,
    /// From when to when.
    pub idled: Vec<(u64, u64)>,
    pub counted: CoreOutcome,
}

impl Core {
    pub fn of(case: &Case) -> Core {
        Core {
            clock: match case.interval {
                true => Clock::Interval(Interval::new(case.machine.core)),
                false => Clock::InOrder(0),
            },
            runs: None,
            busy: 0,
            idled: Vec::new(),
            counted: CoreOutcome::default(),
        }
    }

    /// Its thread leaves, in a turn that began at this cycle; gives the cycle.
    pub fn leave(&mut self, began: u64) -> u64 {
        self.runs = None;
        self.clock.switch();
        self.busy += self.clock.cycle() - began;
        self.clock.cycle()
    }
}

#[derive(Clone)]
pub enum Clock {
    /// The cycle.
    InOrder(u64),
    Interval(Interval),
}

impl Clock {
    pub fn cycle(&self) -> u64 {
        match self {
            Clock::InOrder(cycle) => *cycle,
            Clock::Interval(model) => model.cycle(),
        }
    }

    pub fn wait_until(&mut self, until: u64) {
        match self {
            Clock::InOrder(cycle) => *cycle = until.max(*cycle),
            Clock::Interval(model) => model.wait_until(until),
        }
    }

    pub fn instructions(&mut self, count: u32) {
        if let Clock::Interval(model) = self {
            model.instructions(count);
        }
    }

    /// A reference that took so long to serve. No level is as fast as an L1.
    pub fn reference(&mut self, machine: &Machine, kind: Kind, latency: u64, back: u8) {
        let l1 = match kind {
            Kind::Fetch => machine.l1i,
            Kind::Load | Kind::Store => machine.l1d,
        };
        let missed = (latency != u64::from(l1.latency_cycles)).then_some(latency);
        match self {
            Clock::InOrder(cycle) => *cycle += latency,
            Clock::Interval(model) => model.reference(kind, missed, back),
        }
    }

    fn switch(&mut self) {
        if let Clock::Interval(model) = self {
            model.switch();
        }
    }
}
