//! What a command's output says in the end, as the figures that are compared.

use super::super::side::Side;

/// An output that is read into a side.
pub trait Headline {
    fn side(self) -> Side;
}

/// The middle one; of two in the middle the upper, as `measure` has it.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
