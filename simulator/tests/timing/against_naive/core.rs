//! A core of the naive event simulation, with the clock of one of the core models.

use crate::timing::against_naive::case::{Case, Model};
use crate::timing::core_model::window::Naive as Window;
use crate::timing::core_model::{Made, Naive as Interval};
use corehop_simulator::timing::CoreOutcome;

#[derive(Clone)]
pub struct Core {
    pub clock: Clock,
    /// The connection whose thread runs.
    pub runs: Option<usize>,
    pub busy: u64,
    /// Start and end of idle periods.
    pub idled: Vec<(u64, u64)>,
    pub counted: CoreOutcome,
}

impl Core {
    pub fn of(case: &Case) -> Core {
        Core {
            clock: match case.model {
                Model::Interval => Clock::Interval(Interval::new(case.machine.core)),
                Model::Window => Clock::Window(Window::new(case.machine.core)),
                Model::InOrder => Clock::InOrder(0),
            },
            runs: None,
            busy: 0,
            idled: Vec::new(),
            counted: CoreOutcome::default(),
        }
    }

    /// Removes its thread, in a turn that began at this cycle; returns the current cycle.
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
    Window(Window),
}

impl Clock {
    pub fn cycle(&self) -> u64 {
        match self {
            Clock::InOrder(cycle) => *cycle,
            Clock::Interval(model) => model.cycle(),
            Clock::Window(model) => model.cycle(),
        }
    }

    pub fn wait_until(&mut self, until: u64) {
        match self {
            Clock::InOrder(cycle) => *cycle = until.max(*cycle),
            Clock::Interval(model) => model.wait_until(until),
            Clock::Window(model) => model.wait_until(until),
        }
    }

    pub fn instructions(&mut self, count: u32) {
        match self {
            Clock::InOrder(_) => {}
            Clock::Interval(model) => model.instructions(count),
            Clock::Window(model) => model.instructions(count),
        }
    }

    pub fn reference(&mut self, made: Made) {
        match self {
            Clock::InOrder(cycle) => *cycle += made.latency + made.translation,
            Clock::Interval(model) => model.reference(made),
            Clock::Window(model) => model.reference(made),
        }
    }

    /// Continues elsewhere than predicted, after this load back, if any.
    pub fn mispredicted(&mut self, back: usize, cycles: u32) {
        match self {
            Clock::InOrder(cycle) => *cycle += u64::from(cycles),
            Clock::Interval(model) => model.mispredicted(back),
            Clock::Window(model) => model.mispredicted(back),
        }
    }

    fn switch(&mut self) {
        match self {
            Clock::InOrder(_) => {}
            Clock::Interval(model) => model.switch(),
            Clock::Window(model) => model.switch(),
        }
    }
}
