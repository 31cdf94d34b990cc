//! Whether the two CPUs lie to each other as they did when the machine was calibrated.
//!
//! A hypervisor moves virtual CPUs near each other and apart, and a line that the other wrote then
//! takes a multiple of what it took. What was foretold for one placement says nothing of another,
//! so what a line takes is measured before and after each round. Rejected: to correct what was
//! foretold by it, which would hold predictions to what was measured beside them.

use crate::patched::Outcome;
use corehop_measure::calibration::transfer_cycles;
use corehop_simulator::calibrated::{self, Calibrated};
use corehop_simulator::host;

/// A line takes so many times as long, or as short, in another placement.
const MOVED: f64 = 1.4;

/// What a line of another core takes where the predictions hold.
pub struct Placement {
    cpus: [usize; 2],
    expected_cycles: f64,
    /// What it took around each round.
    readings: Vec<f64>,
}

impl Placement {
    /// That in which this machine was calibrated; `None` if it was not.
    pub fn calibrated(cpus: [usize; 2]) -> Option<Placement> {
        match calibrated::look(&host::described().ok()?.machine) {
            Calibrated::Taken { machine, .. } => Some(Placement {
                cpus,
                expected_cycles: machine.transfer_latency_cycles.into(),
                readings: Vec::new(),
            }),
            _ => None,
        }
    }

    /// Whether it is so now. A machine that cannot be asked is believed.
    pub fn holds(&mut self) -> Outcome<bool> {
        let Some(cycles) = transfer_cycles(self.cpus)? else {
            return Ok(true);
        };
        self.readings.push(cycles);
        let ratio = cycles / self.expected_cycles;
        Ok((1.0 / MOVED..=MOVED).contains(&ratio))
    }

    /// What it took, for people.
    pub fn told(&self) -> String {
        let least = self.readings.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.readings.iter().copied().fold(0.0, f64::max);
        let expected = self.expected_cycles;
        format!(
            "a line of the other core took {least:.0} to {most:.0} cycles, {expected:.0} expected"
        )
    }
}
