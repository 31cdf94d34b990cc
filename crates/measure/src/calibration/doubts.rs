//! Reasons to doubt a calibration: a busy machine, or readings that vary too much.
//!
//! Only figures that become part of a machine file are checked for their spread. The limits are
//! wide enough for an idle virtual machine with busy neighbors. They are narrow enough that the
//! median is about as accurate as the simulator needs.

use crate::calibration::calibrated::Calibration;
use crate::calibration::samples::Quartiles;

/// Maximum share of all CPUs' time for other programs.
const OTHERS_MOST: f64 = 0.10;
/// Maximum share that the hypervisor may take.
const STOLEN_MOST: f64 = 0.02;
/// Maximum rate of preemptions of a measuring thread, per second.
const SWITCHES_MOST_PER_S: f64 = 50.0;
/// Maximum interquartile range as a share of the median: of a core's clock, of a core's private
/// resources, of shared resources, and of scheduling.
const CLOCK_SPREAD_MOST: f64 = 0.05;
const OWN_SPREAD_MOST: f64 = 0.15;
const SHARED_SPREAD_MOST: f64 = 0.30;
const HOP_SPREAD_MOST: f64 = 0.75;

/// One reason to doubt a calibration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// Readings of the same thing differ too much.
    #[error(
        "{what}: the spread is too wide: half of the readings lie between {low:.1} and {high:.1} \
         {unit}, {:.0} % of the median apart; at most {:.0} % is allowed",
        .spread * 100.0, .most * 100.0
    )]
    Spread {
        /// What was measured.
        what: &'static str,
        /// Its unit.
        unit: &'static str,
        /// First quartile.
        low: f64,
        /// Third quartile.
        high: f64,
        /// Interquartile range as a share of the median.
        spread: f64,
        /// Maximum allowed spread.
        most: f64,
    },
    /// Other programs used the CPUs.
    #[error(
        "other programs used {:.0} % of the CPU time; at most {:.0} % is allowed",
        .0 * 100.0, OTHERS_MOST * 100.0
    )]
    Others(f64),
    /// The hypervisor gave the CPUs to others.
    #[error(
        "the hypervisor took {:.1} % of the CPU time (steal); at most {:.0} % is allowed",
        .0 * 100.0, STOLEN_MOST * 100.0
    )]
    Stolen(f64),
    /// The scheduler preempted measuring threads.
    #[error(
        "measuring threads were preempted {0:.0} times per second; at most \
         {SWITCHES_MOST_PER_S} are allowed"
    )]
    Switches(f64),
}

/// Returns all reasons to doubt the calibration; none on a quiet machine.
pub fn doubts(calibration: &Calibration) -> Vec<Doubt> {
    let mut doubts = spreads(calibration);
    let disturbance = &calibration.disturbance;
    let over = |share: Option<f64>, most: f64| share.filter(|&share| share > most);
    doubts.extend(over(disturbance.others_share, OTHERS_MOST).map(Doubt::Others));
    doubts.extend(over(disturbance.stolen_share, STOLEN_MOST).map(Doubt::Stolen));
    let switches = disturbance.involuntary_switches_per_s;
    doubts.extend(over(Some(switches), SWITCHES_MOST_PER_S).map(Doubt::Switches));
    doubts
}

fn spreads(calibration: &Calibration) -> Vec<Doubt> {
    let latencies = &calibration.latencies;
    let figures = [
        ("L1D", latencies.l1d, OWN_SPREAD_MOST),
        ("L1I", latencies.l1i, OWN_SPREAD_MOST),
        ("L2", latencies.l2, OWN_SPREAD_MOST),
        ("L3", latencies.l3, SHARED_SPREAD_MOST),
        ("memory", latencies.memory, SHARED_SPREAD_MOST),
        (
            "a line of another core",
            calibration.transfer,
            SHARED_SPREAD_MOST,
        ),
        (
            "hops by sched_setaffinity",
            calibration.hops.affinity_awake,
            HOP_SPREAD_MOST,
        ),
    ];
    let clock = spread(
        "the core's clock",
        "GHz",
        calibration.clocks.core_ghz,
        CLOCK_SPREAD_MOST,
    );
    let of = |(what, figure, most): (_, Option<crate::calibration::samples::Figure>, _)| {
        spread(what, "cycles", figure?.cycles, most)
    };
    clock
        .into_iter()
        .chain(figures.into_iter().filter_map(of))
        .collect()
}

fn spread(
    what: &'static str,
    unit: &'static str,
    quartiles: Quartiles,
    most: f64,
) -> Option<Doubt> {
    let spread = quartiles.spread();
    (spread > most).then_some(Doubt::Spread {
        what,
        unit,
        low: quartiles.low,
        high: quartiles.high,
        spread,
        most,
    })
}
