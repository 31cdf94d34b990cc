//! How much is measured: a whole calibration, or one that only shows that all of it works.

/// How often and how long each thing is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Whether this is the short one.
    pub is_quick: bool,
    /// All caches take turns so often, so that a slow moment of the machine falls on all alike.
    pub rounds: u64,
    /// Repetitions of each in a round.
    pub repetitions: u32,
    /// Rounds through all sizes of the latency curve.
    pub curve_rounds: u64,
    /// Sizes of the curve between one and its double.
    pub steps_per_octave: u32,
    /// The largest size of the curve.
    pub largest_walk_bytes: u64,
    /// Repetitions for each pair of CPUs.
    pub pair_repetitions: u32,
    /// Rounds in which hops of all kinds take turns.
    pub hop_rounds: u64,
    /// Hops of a round, of the kind that is fastest; slower kinds have fewer.
    pub hop_samples: u32,
    /// How long threads that queue hop in a round.
    pub queuing_ms: u32,
}

impl Effort {
    /// About half a minute.
    pub const WHOLE: Effort = Effort {
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

    /// A few seconds: all is measured, and nothing well.
    pub const QUICK: Effort = Effort {
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
