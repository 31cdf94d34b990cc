//! Many short repetitions of one measurement, as their quartiles.
//!
//! Rejected: the mean, which one interrupt moves, and the least, which a clock that just rose
//! moves.

use serde::Serialize;

/// The first quartile, the median and the third.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter of the repetitions lie below.
    pub low: f64,
    /// Half of them do.
    pub median: f64,
    /// A quarter of them lie above.
    pub high: f64,
}

impl Quartiles {
    /// Of these values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Quartiles> {
        let [low, median, high] = match values {
            [] => return None,
            values => quartiles(values),
        };
        Some(Quartiles { low, median, high })
    }

    /// How far the middle half of the values lies apart, as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

/// The first quartile, the median and the third of at least one value.
pub fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}

/// The middle one of at least one value.
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

/// Repetitions of one measurement, as they come in.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    cycles: Vec<f64>,
    ns: Vec<f64>,
}

impl Readings {
    /// One that took so many nanoseconds, while the core's clock ran at so many gigahertz.
    pub fn push(&mut self, ns: f64, ghz: f64) {
        self.ns.push(ns);
        self.cycles.push(ns * ghz);
    }

    /// All of them together; `None` of none.
    pub fn figure(&self) -> Option<Figure> {
        Some(Figure {
            cycles: Quartiles::of(&self.cycles)?,
            ns: Quartiles::of(&self.ns)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
