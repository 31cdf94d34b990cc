//! How much to measure: a whole calibration, the latencies that a search needs, or a quick
//! calibration that only shows that everything works.

/// How often and how long each thing is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The command that measures, and what its figures are worth.
    pub command: &'static str,
    /// Whether this is the quick calibration.
    pub is_quick: bool,
    /// Rounds of all caches, which alternate, so that a slow moment of the machine affects all of
    /// them.
    pub rounds: u64,
    /// Repetitions of each in a round.
    pub repetitions: u32,
    /// Rounds through all sizes of the latency curve.
    pub curve_rounds: u64,
    /// Sizes of the curve per doubling.
    pub steps_per_octave: u32,
    /// The largest size of the curve.
    pub largest_walk_bytes: u64,
    /// Repetitions for each pair of CPUs.
    pub pair_repetitions: u32,
    /// Rounds in which all kinds of hops alternate; 0 measures no hops.
    pub hop_rounds: u64,
    /// Samples per round of the fastest kind of hop; slower kinds have fewer.
    pub hop_samples: u32,
    /// Duration of the trial with queueing threads in each round, in milliseconds.
    pub queuing_ms: u32,
}

impl Effort {
    /// Takes about half a minute.
    pub const WHOLE: Effort = Effort {
        command: "`corehop calibrate`",
        is_quick: false,
        rounds: 15,
        repetitions: 21,
        curve_rounds: 3,
        steps_per_octave: 4,
        largest_walk_bytes: 512 << 20,
        pair_repetitions: 101,
        hop_rounds: 9,
        hop_samples: 2000,
        queuing_ms: 100,
    };

    /// Takes about a second: measures no hops, and of the curve only what has the L3's latency.
    pub const LATENCIES: Effort = Effort {
        command: "`corehop optimize`, in a second; `corehop calibrate` measures more and better",
        is_quick: false,
        rounds: 5,
        repetitions: 5,
        curve_rounds: 3,
        steps_per_octave: 1,
        largest_walk_bytes: 16 << 20,
        pair_repetitions: 21,
        hop_rounds: 0,
        hop_samples: 0,
        queuing_ms: 0,
    };

    /// Takes a few seconds: measures everything, but not accurately.
    pub const QUICK: Effort = Effort {
        command: "`corehop calibrate --quick`, which measures nothing well",
        is_quick: true,
        rounds: 2,
        repetitions: 3,
        curve_rounds: 1,
        steps_per_octave: 1,
        largest_walk_bytes: 8 << 20,
        pair_repetitions: 5,
        hop_rounds: 1,
        hop_samples: 100,
        queuing_ms: 20,
    };
}
