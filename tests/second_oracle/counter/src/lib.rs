//! A second, independent count of everything that `corehop replay` counts, from exported data.
//!
//! The simulator's own oracle (`simulator/tests/oracle`) uses the same reader of traces, and finds
//! calls by the same rule. This oracle shares no line with the product. It reads the output of
//! `corehop export` and a plan. It finds calls and returns in the disassembled program, and reads
//! arguments from the output of the program itself. It simulates the caches as
//! docs/reference/model.md describes them. `tests/second_oracle` compares `corehop replay --json`
//! with it, key by key.
//!
//! It is slow and simple on purpose. Read `exported.rs`, `placement.rs`, and `caches.rs`, in this
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

/// The counts of the oracle.
pub struct Simulated {
    /// User code and the kernel together.
    pub counts: Counts,
    /// User code and the kernel separately.
    pub modes: Value,
    /// By function whose core depends on an argument.
    pub by_argument: Vec<Value>,
    /// Number of migrations of threads to another core.
    pub hops: u64,
}

/// The exported data, and what is known about its program.
pub struct Replay<'a> {
    /// The executions of threads.
    pub exported: &'a Exported,
    /// Their calls and returns.
    pub code: &'a Code,
    /// The arguments of their calls.
    pub told: &'a Told,
}

impl Replay<'_> {
    /// Simulates a machine, with threads placed by `placement`.
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

    /// Returns how often threads migrate to another core, on any machine.
    pub fn hops(&self, placement: Placement) -> u64 {
        let mut walk = Walk::new(self.code, placement, self.told);
        for execution in &self.exported.executions {
            walk.core_of(execution);
        }
        walk.hops
    }
}
