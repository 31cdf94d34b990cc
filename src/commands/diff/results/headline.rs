//! The headline figures of a command's output.

use super::super::side::Side;

/// An output that can be converted into a side.
pub trait Headline {
    fn side(self) -> Side;
}

/// Returns the median; of an even number of values the upper middle one, as `measure` does.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
