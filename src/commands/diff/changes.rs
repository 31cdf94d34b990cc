//! Compares two sides: the settings that differ, all figures, and the functions of a plan.

use super::migrations::Migrations;
use super::side::{Figure, Setting, Side};

/// The comparison of two sides.
pub struct Changes {
    /// Settings that differ.
    pub settings: Vec<Setting>,
    /// All figures, equal or not: first those of A, then those that only B has.
    pub figures: Vec<FigurePair>,
    /// Where threads migrate; `None` for files without plans.
    pub migrations: Option<Migrations>,
}

/// A figure of both sides, or of one.
pub struct FigurePair {
    pub name: String,
    /// The values of A and B.
    pub values: [Option<f64>; 2],
    pub intervals: [Option<[f64; 2]>; 2],
    pub decimals: usize,
}

impl FigurePair {
    /// Returns B as a multiple of A, if that is a finite number.
    pub fn ratio(&self) -> Option<f64> {
        let [a, b] = self.values;
        let ratio = b? / a?;
        ratio.is_finite().then_some(ratio)
    }

    /// Returns whether the intervals overlap, if both sides have one.
    pub fn is_overlapping(&self) -> Option<bool> {
        let [a, b] = self.intervals;
        let ([a_low, a_high], [b_low, b_high]) = (a?, b?);
        Some(a_low <= b_high && b_low <= a_high)
    }

    fn is_same(&self) -> bool {
        let [a, b] = self.values;
        let [of_a, of_b] = self.intervals;
        a == b && of_a == of_b
    }
}

impl Changes {
    /// Compares two sides.
    pub fn of(a: Side, b: Side) -> Changes {
        let migrations = match (a.functions, b.functions) {
            (None, None) => None,
            (a, b) => Some(Migrations::of(a.unwrap_or_default(), b.unwrap_or_default())),
        };
        let settings = paired(a.settings, b.settings, |(name, _)| name.clone());
        let settings = settings.into_iter().map(|(name, values)| Setting {
            name,
            values: values.map(|value| value.and_then(|(_, value)| value)),
        });
        let figures = paired(a.figures, b.figures, |figure| figure.name.clone());
        let figures = figures.into_iter().map(|(name, sides)| FigurePair {
            name,
            values: sides.each_ref().map(|of| of.as_ref()?.value),
            intervals: sides.each_ref().map(|of| of.as_ref()?.interval),
            decimals: decimals(&sides),
        });
        Changes {
            settings: settings.filter(|of| of.values[0] != of.values[1]).collect(),
            figures: figures.collect(),
            migrations,
        }
    }

    /// Returns whether nothing differs.
    pub fn is_empty(&self) -> bool {
        let migrations = self.migrations.as_ref();
        self.settings.is_empty()
            && self.figures.iter().all(FigurePair::is_same)
            && migrations.is_none_or(Migrations::is_empty)
    }
}

fn decimals(sides: &[Option<Figure>; 2]) -> usize {
    let known = sides.iter().flatten().map(|figure| figure.decimals);
    known.max().unwrap_or(0)
}

/// Pairs entries of the same name, in the order of A, then those that only B has. Names are unique.
fn paired<T>(a: Vec<T>, b: Vec<T>, name: impl Fn(&T) -> String) -> Vec<(String, [Option<T>; 2])> {
    let mut pairs: Vec<(String, [Option<T>; 2])> = Vec::new();
    for (side, all) in [a, b].into_iter().enumerate() {
        for one in all {
            let name = name(&one);
            let known = pairs.iter_mut().find(|(known, _)| *known == name);
            match known {
                Some((_, sides)) => sides[side] = Some(one),
                None if side == 0 => pairs.push((name, [Some(one), None])),
                None => pairs.push((name, [None, Some(one)])),
            }
        }
    }
    pairs
}
