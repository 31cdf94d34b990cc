//! What `corehop replay` counts, counted a second time from what other programs would be given.
//!
//! The simulator's own oracle (`simulator/tests/oracle`) is fed by the same reader of traces, and
//! finds calls by the same rule. This one shares no line with the product: it reads what `corehop
//! export` writes and a plan, takes calls and returns from the disassembled program and arguments
//! from what the program itself prints, and simulates the caches as docs/reference/model.md
//! describes them. `tests/second_oracle` holds `corehop replay --json` to it, key by key.
//!
//! It is slow and simple on purpose. Read `exported.rs`, `placement.rs` and `caches.rs`, in this
//! order.

#![allow(missing_docs)] // For one test alone; what a name does not say is said.

mod cache;
mod caches;
pub mod code;
mod counts;
pub mod exported;
pub mod machine;
pub mod objects;
mod placed;
pub mod placement;
pub mod random;

use caches::Caches;
use code::Code;
use counts::Counts;
use exported::Exported;
use machine::Machine;
use objects::Told;
use placement::{Placement, Walk};
use serde_json::{Value, json};

/// What the oracle counts.
pub struct Simulated {
    /// Of user code and the kernel together.
    pub counts: Counts,
    /// Of each.
    pub modes: Value,
    /// Of each function that goes by an argument.
    pub by_argument: Vec<Value>,
    /// How often a thread went to another core.
    pub hops: u64,
}

/// What was exported, and what is known of its program.
pub struct Replay<'a> {
    /// What threads did.
    pub exported: &'a Exported,
    /// Where they called and returned.
    pub code: &'a Code,
    /// What they called functions with.
    pub told: &'a Told,
}

impl Replay<'_> {
    /// On a machine, with threads where they are placed.
    pub fn simulate(&self, machine: &Machine, placement: Placement) -> Simulated {
        let mut caches = Caches::new(machine);
        let mut walk = Walk::new(self.code, placement, self.told);
        for (execution, accesses) in self.exported.executed() {
            caches.executes(execution.start);
            let before = walk.hops;
            let core = walk.core_of(execution);
            caches.counts().cycles += (walk.hops - before) * machine.hop_cost;
            for access in accesses {
                for line in access.lines() {
                    caches.touch(core, line, access.kind);
                }
            }
        }
        let [user, kernel] = &caches.counts;
        let modes = json!({
            "user": { "counters": user.to_json() },
            "kernel": { "counters": kernel.to_json() },
            "replaced": caches.replaced.to_json(),
        });
        Simulated {
            counts: user.clone().plus(kernel),
            modes,
            by_argument: walk.objects.to_json(),
            hops: walk.hops,
        }
    }

    /// How often threads go to another core, on any machine.
    pub fn hops(&self, placement: Placement) -> u64 {
        let mut walk = Walk::new(self.code, placement, self.told);
        for execution in &self.exported.executions {
            walk.core_of(execution);
        }
        walk.hops
    }
}
