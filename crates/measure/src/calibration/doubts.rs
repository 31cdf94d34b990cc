//! What speaks against a calibration: a machine that was busy, or readings that lie too far apart.
//!
//! Only what a machine file is made of is judged by its spread. The limits are wide enough for an
//! idle virtual machine whose neighbours are not idle, and narrow enough that the median is known
//! about as well as the simulator needs it.

use crate::calibration::calibrated::Calibration;
use crate::calibration::samples::Quartiles;

/// Most that others may have of all CPUs' time.
const OTHERS_MOST: f64 = 0.10;
/// Most that the hypervisor may give to others.
const STOLEN_MOST: f64 = 0.02;
/// Most times in a second that a measuring thread may be put aside.
const SWITCHES_MOST_PER_S: f64 = 50.0;
/// How far the middle half of readings may lie apart, as a share of their median: of a core's
/// clock, of what a core has to itself, of what it shares, and of what the scheduler does.
const CLOCK_SPREAD_MOST: f64 = 0.05;
const OWN_SPREAD_MOST: f64 = 0.15;
const SHARED_SPREAD_MOST: f64 = 0.30;
const HOP_SPREAD_MOST: f64 = 0.75;

/// One thing that speaks against it.
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
        /// The first quartile.
        low: f64,
        /// The third.
        high: f64,
        /// How far they lie apart, as a share of the median.
        spread: f64,
        /// What would do.
        most: f64,
    },
    /// Other programs used the CPUs.
    #[error(
        "other programs used {:.0} % of the CPU time; at most {:.0} % is allowed",
        .0 * 100.0, OTHERS_MOST * 100.0
    )]
    Others(f64),
    /// The hypervisor used them for others.
    #[error(
        "the hypervisor took {:.1} % of the CPU time (steal); at most {:.0} % is allowed",
        .0 * 100.0, STOLEN_MOST * 100.0
    )]
    Stolen(f64),
    /// The scheduler put measuring threads aside.
    #[error(
        "measuring threads were preempted {0:.0} times per second; at most \
         {SWITCHES_MOST_PER_S} are allowed"
    )]
    Switches(f64),
}

/// All that speaks against it; nothing on a quiet machine.
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
