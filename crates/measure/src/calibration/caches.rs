//! Measures the latency of each cache level and of memory, with walks whose size only that level
//! serves.
//!
//! All walks alternate, round by round, so that a slow moment of the machine affects all of them.
//! Sizes follow from the cache sizes that the kernel reports. A walk of the first level takes half
//! of it, which leaves room for other lines. A walk of the second level is four times the first, or
//! half of the second if that is less: so few pages that TLBs of the first level hold them. A walk
//! of the third level is four times the second level, which keeps little of it. A virtual machine
//! may own only a third of a shared third level, so a larger walk would measure memory. The third
//! level's own figure comes from the curve (curve.rs), which continues one walk. Memory is measured
//! on flushed lines, because no walk is larger than some third levels.

use crate::calibration::clock::{Clocks, core_ghz, warm_up};
use crate::calibration::effort::Effort;
use crate::calibration::error::Error;
use crate::calibration::native::mapping::Pages;
use crate::calibration::observer::{Observer, step};
use crate::calibration::samples::{Figure, Quartiles, Readings};
use crate::calibration::walk::{CodeWalk, FlushedWalk, Order, Repeated, Walk};
use corehop_simulator::Machine;
use serde::Serialize;

/// Latency of one step of each walk; `None` if it could not be measured. Pages are huge if the
/// kernel provides them, unless the name says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latencies {
    /// Loads served by the L1D.
    pub l1d: Option<Figure>,
    /// Loads served by the L2.
    pub l2: Option<Figure>,
    /// Loads served by the L3.
    pub l3: Option<Figure>,
    /// Loads served by memory.
    pub memory: Option<Figure>,
    /// A line of code served by the L1I.
    pub l1i: Option<Figure>,
    /// A line of code served by the L2.
    pub l2_code: Option<Figure>,
    /// Like `l2`, in small pages.
    pub l2_small_pages: Option<Figure>,
    /// Like `l3`, in small pages.
    pub l3_small_pages: Option<Figure>,
    /// Like `memory`, in small pages.
    pub memory_small_pages: Option<Figure>,
    /// Like `l2`, in sequential order.
    pub l2_sequential: Option<Figure>,
    /// Like `l3`, in sequential order.
    pub l3_sequential: Option<Figure>,
    /// A repeated random path that is a quarter larger than the L2.
    pub circular: Option<Figure>,
}

/// Results of the walks.
#[derive(Clone, Debug)]
pub struct Caches {
    /// Latency of one step of each walk.
    pub latencies: Latencies,
    /// The clocks during the walks.
    pub clocks: Clocks,
    /// Whether walks that requested huge pages got any.
    pub has_huge_pages: bool,
    /// What could not be measured, and why.
    pub left_out: Vec<String>,
}

/// A walk, and the field for its figure.
struct Trial {
    slot: fn(&mut Latencies) -> &mut Option<Figure>,
    walk: Box<dyn Repeated>,
    readings: Readings,
}

impl Trial {
    fn new(
        slot: fn(&mut Latencies) -> &mut Option<Figure>,
        walk: impl Repeated + 'static,
    ) -> Trial {
        Trial {
            slot,
            walk: Box::new(walk),
            readings: Readings::default(),
        }
    }
}

/// Size of each walk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    l1d: u64,
    l2: u64,
    l3: Option<u64>,
    l1i: u64,
    l2_code: u64,
}

impl Sizes {
    fn of(described: &Machine) -> Sizes {
        let (l1i, l2) = (described.l1i.size_bytes, described.l2.size_bytes);
        let outer = described.l3.map(|l3| (4 * l2).min(l3.size_bytes / 2));
        Sizes {
            l1d: described.l1d.size_bytes / 2,
            l2: (4 * described.l1d.size_bytes).min(l2 / 2),
            l3: outer,
            l1i: l1i / 2,
            l2_code: (4 * l1i).min(l2 / 2),
        }
    }
}

/// Returns the bytes of a path that is a quarter larger than the L2.
pub fn circular_bytes(described: &Machine) -> u64 {
    described.l2.size_bytes / 4 * 5
}

/// Measures on the CPU that the calling thread is pinned to.
pub fn measure(
    described: &Machine,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Caches, Error> {
    let sizes = Sizes::of(described);
    let mut left_out = Vec::new();
    let (mut trials, has_huge_pages) = data_trials(described, sizes)?;
    match code_trials(sizes) {
        Ok(code) => trials.extend(code),
        Err(error) => left_out.push(format!(
            "fetches: this system lets no code be made: {error}"
        )),
    }
    observer.begin(
        "measurements of caches made",
        effort.rounds * trials.len() as u64,
    );
    let tsc_ghz = warm_up();
    let mut rates = Vec::new();
    for _ in 0..effort.rounds {
        for trial in &mut trials {
            trial.walk.warm_up();
            let ghz = core_ghz();
            rates.push(ghz);
            for _ in 0..effort.repetitions {
                trial.readings.push(trial.walk.repeat(), ghz);
            }
            step(observer)?;
        }
    }
    observer.end();
    let mut latencies = Latencies::default();
    for trial in &trials {
        *(trial.slot)(&mut latencies) = trial.readings.figure();
    }
    let core_ghz = Quartiles::of(&rates).expect("a round at least");
    Ok(Caches {
        latencies,
        clocks: Clocks { core_ghz, tsc_ghz },
        has_huge_pages,
        left_out,
    })
}

/// Creates the walks through data; also returns whether any of them is in huge pages.
fn data_trials(described: &Machine, sizes: Sizes) -> Result<(Vec<Trial>, bool), Error> {
    let (random, sequential) = (Order::Random, Order::Sequential);
    let (huge, small) = (Pages::Huge, Pages::Small);
    let circular = circular_bytes(described);
    let second = Walk::of(sizes.l2, random, huge)?;
    let has_huge_pages = second.is_huge();
    let mut trials = vec![
        Trial::new(|all| &mut all.l1d, Walk::of(sizes.l1d, random, huge)?),
        Trial::new(|all| &mut all.l2, second),
        Trial::new(|all| &mut all.memory, FlushedWalk::new(huge)?),
        Trial::new(
            |all| &mut all.l2_small_pages,
            Walk::of(sizes.l2, random, small)?,
        ),
        Trial::new(|all| &mut all.memory_small_pages, FlushedWalk::new(small)?),
        Trial::new(
            |all| &mut all.l2_sequential,
            Walk::of(sizes.l2, sequential, huge)?,
        ),
        Trial::new(|all| &mut all.circular, Walk::of(circular, random, huge)?),
    ];
    if let Some(bytes) = sizes.l3 {
        trials.extend([
            Trial::new(
                |all| &mut all.l3_small_pages,
                Walk::of(bytes, random, small)?,
            ),
            Trial::new(
                |all| &mut all.l3_sequential,
                Walk::of(bytes, sequential, huge)?,
            ),
        ]);
    }
    Ok((trials, has_huge_pages))
}

fn code_trials(sizes: Sizes) -> std::io::Result<[Trial; 2]> {
    Ok([
        Trial::new(|all| &mut all.l1i, CodeWalk::of(sizes.l1i)?),
        Trial::new(|all| &mut all.l2_code, CodeWalk::of(sizes.l2_code)?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_simulator::Machine;

    #[test]
    fn each_walk_fits_its_level_and_no_level_before_it() {
        for name in Machine::bundled() {
            let machine = Machine::named_or_path(name).unwrap();
            let sizes = Sizes::of(&machine);
            assert!(sizes.l1d < machine.l1d.size_bytes, "{name}");
            assert!(sizes.l2 > machine.l1d.size_bytes, "{name}");
            assert!(sizes.l2 < machine.l2.size_bytes, "{name}");
            assert!(sizes.l1i < machine.l1i.size_bytes, "{name}");
            assert!(sizes.l2_code > machine.l1i.size_bytes, "{name}");
            assert!(sizes.l2_code < machine.l2.size_bytes, "{name}");
            if let Some(l3) = machine.l3 {
                let bytes = sizes.l3.unwrap();
                assert!(bytes > machine.l2.size_bytes, "{name}: {bytes}");
                assert!(bytes < l3.size_bytes, "{name}: {bytes}");
            }
        }
    }
}
