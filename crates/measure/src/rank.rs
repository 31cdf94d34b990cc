//! Rank correlation: whether one number orders functions like another.
//!
//! It is Spearman's correlation of ranks; equal values share their mean rank (Spearman, "The proof
//! and measurement of association between two things", 1904; ties as in Kendall and Gibbons, *Rank
//! Correlation Methods*, 5th edition, 1990, chapter 3). It ignores the size of differences, which a
//! rule of thumb cannot predict.

/// Returns Spearman's rank correlation of pairs. `None` for fewer than three pairs, because two
/// always agree or disagree fully, and if all values on one side are equal.
pub fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    spearman(pairs).filter(|_| pairs.len() >= 3)
}

/// The same, but also for two pairs.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let ranks_of =
        |value: fn(&(f64, f64)) -> f64| ranks(&pairs.iter().map(value).collect::<Vec<_>>());
    let [first, second] = [ranks_of(|pair| pair.0), ranks_of(|pair| pair.1)];
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let spread = product(&first, &first) * product(&second, &second);
    (spread > 0.0).then(|| product(&first, &second) / spread.sqrt())
}

/// Returns the rank of each value, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let equal = |place: &&usize| values[**place] == values[order[first]];
        let count = order[first..].iter().take_while(equal).count();
        for &place in &order[first..first + count] {
            ranks[place] = first as f64 + (count as f64 + 1.0) / 2.0;
        }
        first += count;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn an_order_and_its_reverse_are_one_and_minus_one() {
        let pairs = |sign: f64| [1.0, 2.0, 5.0, 9.0].map(|x: f64| (x, sign * x * x));
        assert_eq!(correlation(&pairs(1.0)), Some(1.0));
        assert_eq!(correlation(&pairs(-1.0)), Some(-1.0));
    }

    #[test]
    fn ten_students_of_a_textbook_have_the_textbooks_correlation() {
        // IQ and hours of television, from Wikipedia's page on Spearman's coefficient.
        let iq = [106., 100., 86., 101., 99., 103., 97., 113., 112., 110.];
        let hours = [7., 27., 2., 50., 28., 29., 20., 12., 6., 17.];
        let pairs: Vec<(f64, f64)> = iq.into_iter().zip(hours).collect();
        let found = correlation(&pairs).unwrap();
        assert!((found + 29.0 / 165.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn too_few_pairs_and_pairs_without_an_order_have_none() {
        assert_eq!(correlation(&[(1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(correlation(&[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]), None);
    }
}
