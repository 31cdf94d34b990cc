//! Many short repetitions of one measurement, summarized by their quartiles.
//!
//! Rejected: the mean, which a single interrupt distorts, and the minimum, which a clock that has
//! just risen distorts. A sum of many hops needs their mean, so that one leaves out both ends.

use serde::Serialize;

/// First quartile, median and third quartile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter of the repetitions lie below.
    pub low: f64,
    /// Half of the repetitions lie below.
    pub median: f64,
    /// A quarter of the repetitions lie above.
    pub high: f64,
}

impl Quartiles {
    /// Computes the quartiles of these values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Quartiles> {
        let [low, median, high] = match values {
            [] => return None,
            values => quartiles(values),
        };
        Some(Quartiles { low, median, high })
    }

    /// Returns the interquartile range as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

/// Returns the first quartile, the median and the third quartile of at least one value.
pub fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}

/// Returns the median of at least one value.
pub(crate) fn median(values: &[f64]) -> f64 {
    quartiles(values)[1]
}

/// A duration, in nanoseconds and in cycles of the core's clock at that time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// In cycles.
    pub cycles: Quartiles,
    /// In nanoseconds.
    pub ns: Quartiles,
}

impl Figure {
    /// Returns what remains without this many cycles, at least a tenth.
    pub(crate) fn without(&self, cycles: f64) -> Figure {
        let remaining = |all: f64| (all - cycles).max(all / 10.0);
        let shares =
            [self.cycles.low, self.cycles.median, self.cycles.high].map(|all| remaining(all) / all);
        let of = |quartiles: Quartiles| Quartiles {
            low: quartiles.low * shares[0],
            median: quartiles.median * shares[1],
            high: quartiles.high * shares[2],
        };
        Figure {
            cycles: of(self.cycles),
            ns: of(self.ns),
        }
    }
}

/// Collected repetitions of one measurement.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    cycles: Vec<f64>,
    ns: Vec<f64>,
}

impl Readings {
    /// Adds a repetition of this many nanoseconds, measured at this core clock in gigahertz.
    pub fn push(&mut self, ns: f64, ghz: f64) {
        self.ns.push(ns);
        self.cycles.push(ns * ghz);
    }

    /// Returns the mean core clock in gigahertz.
    pub fn ghz(&self) -> f64 {
        self.cycles.iter().sum::<f64>() / self.ns.iter().sum::<f64>()
    }

    /// Summarizes all repetitions; `None` if there are none.
    pub fn figure(&self) -> Option<Figure> {
        Some(Figure {
            cycles: Quartiles::of(&self.cycles)?,
            ns: Quartiles::of(&self.ns)?,
        })
    }

    /// Returns the mean in cycles, without the shortest and the longest hundredth; `None` if there
    /// are no repetitions.
    pub fn trimmed_mean_cycles(&self) -> Option<f64> {
        const ENDS: usize = 100;
        let mut sorted = self.cycles.clone();
        sorted.sort_by(f64::total_cmp);
        let end = sorted.len().div_ceil(ENDS);
        let middle = match sorted.len() > 2 * end {
            true => &sorted[end..sorted.len() - end],
            false => &sorted[..],
        };
        (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trimmed_mean_leaves_out_a_hundredth_at_each_end() {
        let of = |ns: &[f64]| {
            let mut readings = Readings::default();
            ns.iter().for_each(|&ns| readings.push(ns, 2.0));
            readings.trimmed_mean_cycles()
        };
        let mut many = vec![10.0; 98];
        many.extend([0.0, 1e9]);
        assert_eq!(of(&many), Some(20.0));
        assert_eq!(of(&[1.0, 3.0]), Some(4.0));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn quartiles_are_values_that_were_measured() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        let expected = Quartiles {
            low: 2.0,
            median: 3.0,
            high: 4.0,
        };
        assert_eq!(Quartiles::of(&values), Some(expected));
        assert_eq!(expected.spread(), 2.0 / 3.0);
        assert_eq!(Quartiles::of(&[]), None);
        assert_eq!(quartiles(&[7.0]), [7.0; 3]);
    }

    #[test]
    fn cycles_are_nanoseconds_by_the_clock_of_each_repetition() {
        let mut readings = Readings::default();
        assert_eq!(readings.figure(), None);
        readings.push(2.0, 3.0);
        readings.push(3.0, 2.0);
        let figure = readings.figure().unwrap();
        assert_eq!((figure.cycles.low, figure.cycles.high), (6.0, 6.0));
        assert_eq!(figure.ns.median, 2.0);
    }
}
