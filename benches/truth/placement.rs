//! Whether the two CPUs are placed relative to each other as in the machine's calibration.
//!
//! A hypervisor moves virtual CPUs closer together or apart, and a line that the other CPU wrote
//! then takes a multiple of its time. A prediction for one placement does not hold for another, so
//! the transfer time is measured before and after each round. Rejected: to correct predictions by
//! it, which would mix measurements into them.

use crate::patched::Outcome;
use corehop_measure::calibration::transfer_cycles;
use corehop_simulator::calibrated::{self, Calibrated};
use corehop_simulator::host;

/// Minimum factor of a line's time, up or down, that means another placement.
const MOVED: f64 = 1.4;

/// Transfer time of another core's line in the placement of the predictions.
pub struct Placement {
    cpus: [usize; 2],
    expected_cycles: f64,
    /// The time around each round.
    readings: Vec<f64>,
}

impl Placement {
    /// Returns the placement of this machine's calibration; `None` if there is none.
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

    /// Whether the placement holds now; true if it cannot be measured.
    pub fn holds(&mut self) -> Outcome<bool> {
        let Some(cycles) = transfer_cycles(self.cpus)? else {
            return Ok(true);
        };
        self.readings.push(cycles);
        let ratio = cycles / self.expected_cycles;
        Ok((1.0 / MOVED..=MOVED).contains(&ratio))
    }

    /// Describes the measured times.
    pub fn told(&self) -> String {
        let least = self.readings.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.readings.iter().copied().fold(0.0, f64::max);
        let expected = self.expected_cycles;
        format!(
            "a line of the other core took {least:.0} to {most:.0} cycles, {expected:.0} expected"
        )
    }
}
