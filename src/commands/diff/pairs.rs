//! Pairs entries of A and B by several rules, applied one after the other; used for files of traces
//! and plans. Another build of a file has another build id, and may have another path.
//!
//! Files pair by path. The remaining files pair by build id, and then by name, each in order.

use std::path::Path;

/// A file of a trace or a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltFile<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its GNU build id; empty if it has none.
    pub build_id: &'a str,
}

impl<'a> BuiltFile<'a> {
    /// The file at this path with this build id.
    pub fn of(path: &'a str, build_id: &'a str) -> BuiltFile<'a> {
        BuiltFile { path, build_id }
    }
}

/// For each file of A, returns the index of its counterpart in B. Each file of B pairs once.
pub fn paired(a: &[BuiltFile<'_>], b: &[BuiltFile<'_>]) -> Vec<Option<usize>> {
    let by_path = |a: &BuiltFile<'_>, b: &BuiltFile<'_>| a.path == b.path;
    let by_build = |a: &BuiltFile<'_>, b: &BuiltFile<'_>| {
        !a.build_id.is_empty() && a.build_id.eq_ignore_ascii_case(b.build_id)
    };
    let by_name = |a: &BuiltFile<'_>, b: &BuiltFile<'_>| {
        let [a, b] = [a, b].map(|of| Path::new(of.path).file_name());
        a.is_some() && a == b
    };
    by_rules(a, b, &[&by_path, &by_build, &by_name])
}

/// Returns whether an entry of A and an entry of B are the same.
pub type Rule<'r, T> = &'r dyn Fn(&T, &T) -> bool;

/// For each entry of A, returns the index of its counterpart in B: by the first rule, and for the
/// remaining entries by the next. Each entry of B pairs once; the first match wins.
pub fn by_rules<T>(a: &[T], b: &[T], rules: &[Rule<'_, T>]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; a.len()];
    let mut is_taken = vec![false; b.len()];
    for is_same in rules {
        for (of_a, pair) in a.iter().zip(&mut pairs) {
            if pair.is_some() {
                continue;
            }
            let found = (0..b.len()).find(|&at| !is_taken[at] && is_same(of_a, &b[at]));
            if let Some(at) = found {
                is_taken[at] = true;
                *pair = found;
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<'a>(of: &[(&'a str, &'a str)]) -> Vec<BuiltFile<'a>> {
        let file = |&(path, build_id)| BuiltFile { path, build_id };
        of.iter().map(file).collect()
    }

    #[test]
    fn files_pair_by_path_then_by_build_then_by_name() {
        let a = files(&[
            ("/a/x", "01"),
            ("/old/lib.so", "02"),
            ("/a/y", "03"),
            ("z", ""),
        ]);
        let b = files(&[
            ("/b/y", "04"),
            ("/new/other", "02"),
            ("/a/x", "05"),
            ("/q", ""),
        ]);
        assert_eq!(paired(&a, &b), [Some(2), Some(1), Some(0), None]);
    }

    #[test]
    fn a_path_that_occurs_twice_pairs_in_order() {
        let twice = files(&[("/a/x", "01"), ("/a/x", "01")]);
        assert_eq!(paired(&twice, &twice), [Some(0), Some(1)]);
        assert_eq!(paired(&twice, &twice[..1]), [Some(0), None]);
    }
}
