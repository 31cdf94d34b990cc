//! A request's line accesses as cells of a grid with exact counts: columns are time, rows are
//! lines.
//!
//! A request has a hundred thousand accesses or more, a screen some thousand columns. Successive
//! accesses therefore share a column, as many as needed to keep to [`MOST_COLUMNS`]. Whenever one
//! more column is needed, neighbors are merged. Nothing has to be known about the request
//! beforehand, and no access is stored. Only accessed lines have a row. If there are still too many
//! cells, columns and then lines are merged further. Counts stay exact throughout.

use super::replay_pass::LineReference;
use corehop_traces::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a request before neighbors are merged.
const MOST_COLUMNS: usize = 2048;

/// Minimum columns that are left after merging for fewer cells.
const FEWEST_COLUMNS: usize = 512;

/// The accesses to a cell's lines during its column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    pub fetches: u32,
    pub loads: u32,
    pub stores: u32,
    /// L2 misses of these accesses on one core, and with the plan.
    pub missed: [u32; 2],
    /// Code with the most of these accesses, if it made more than half of them.
    pub owner: u32,
    /// Whether other code accessed the cell too.
    pub shared: bool,
    /// Lead of the owner in accesses, by majority vote (Boyer and Moore, 1991).
    lead: u32,
}

impl Cell {
    fn add(&mut self, reference: &LineReference, owner: u32) {
        let kind = match reference.kind {
            Kind::Fetch => &mut self.fetches,
            Kind::Load => &mut self.loads,
            Kind::Store => &mut self.stores,
        };
        *kind += 1;
        for (sum, missed) in self.missed.iter_mut().zip(reference.missed) {
            *sum += u32::from(missed);
        }
        self.vote(owner, 1);
    }

    fn vote(&mut self, owner: u32, votes: u32) {
        if self.lead > 0 && self.owner != owner {
            self.shared = true;
        }
        if self.owner == owner {
            self.lead += votes;
        } else if self.lead >= votes {
            self.lead -= votes;
        } else {
            (self.owner, self.lead) = (owner, votes - self.lead);
        }
    }

    fn absorb(&mut self, other: &Cell) {
        let fresh = self.references() == 0;
        self.fetches += other.fetches;
        self.loads += other.loads;
        self.stores += other.stores;
        for (sum, missed) in self.missed.iter_mut().zip(other.missed) {
            *sum += missed;
        }
        self.shared |= other.shared || (!fresh && self.owner != other.owner);
        self.vote(other.owner, other.lead);
    }

    /// Returns the number of all accesses.
    pub fn references(&self) -> u64 {
        u64::from(self.fetches) + u64::from(self.loads) + u64::from(self.stores)
    }
}

/// Cells of one column, by line.
type Column = BTreeMap<u64, Cell>;

/// A request while its accesses are added.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Number of accesses per column; the last may have fewer.
    references_per_column: u64,
    /// By time, each by line; after rows were merged, by the row's first line.
    columns: Vec<Column>,
    references: u64,
}

/// A request as cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Number of accesses per column; the last may have fewer.
    pub references_per_column: u64,
    /// By time, each by row, ascending.
    pub columns: Vec<Vec<(u32, Cell)>>,
    /// All accessed lines, ascending: row `r` starts at index `r * lines_per_row`.
    pub lines: Vec<u64>,
    /// Lines per row; the last row may have fewer.
    pub lines_per_row: u32,
    /// Number of all accesses.
    pub references: u64,
}

impl Default for Grid {
    fn default() -> Self {
        Grid {
            references_per_column: 1,
            columns: Vec::new(),
            references: 0,
        }
    }
}

impl Grid {
    /// Adds an access by code of `owner`.
    pub fn add(&mut self, reference: &LineReference, owner: u32) {
        let column = (self.references / self.references_per_column) as usize;
        if column == MOST_COLUMNS {
            self.merge_columns();
            return self.add(reference, owner);
        }
        if column == self.columns.len() {
            self.columns.push(Column::new());
        }
        let cell = self.columns[column].entry(reference.line).or_default();
        cell.add(reference, owner);
        self.references += 1;
    }

    fn cells(&self) -> usize {
        self.columns.iter().map(Column::len).sum()
    }

    fn rows(&self) -> Vec<u64> {
        let rows: BTreeSet<u64> = self
            .columns
            .iter()
            .flat_map(|c| c.keys().copied())
            .collect();
        rows.into_iter().collect()
    }

    /// Returns the cells, merged until there are at most `most`, or until nothing is left to merge.
    pub fn into_cells(mut self, most: usize) -> Cells {
        while self.cells() > most && self.columns.len() > FEWEST_COLUMNS {
            self.merge_columns();
        }
        let lines = self.rows();
        let mut lines_per_row = 1;
        while self.cells() > most && self.merge_rows() {
            lines_per_row *= 2;
        }
        let rows = self.rows();
        let row = |line: u64| rows.binary_search(&line).expect("every line has a row") as u32;
        let columns = self.columns.iter();
        let columns = columns.map(|c| c.iter().map(|(&line, &cell)| (row(line), cell)).collect());
        Cells {
            references_per_column: self.references_per_column,
            columns: columns.collect(),
            lines,
            lines_per_row,
            references: self.references,
        }
    }

    fn merge_columns(&mut self) {
        let merge = |pair: &mut [Column]| {
            let (first, second) = pair.split_first_mut().expect("chunks are not empty");
            let mut merged = std::mem::take(first);
            for (line, cell) in second.iter().flatten() {
                merged.entry(*line).or_default().absorb(cell);
            }
            merged
        };
        self.columns = self.columns.chunks_mut(2).map(merge).collect();
        self.references_per_column *= 2;
    }

    /// Merges each pair of successive rows; returns false if there is only one row.
    fn merge_rows(&mut self) -> bool {
        let rows = self.rows();
        if rows.len() < 2 {
            return false;
        }
        let first: BTreeMap<u64, u64> = rows
            .chunks(2)
            .flat_map(|pair| pair.iter().map(|row| (*row, pair[0])))
            .collect();
        for column in &mut self.columns {
            let mut merged = Column::new();
            for (row, cell) in std::mem::take(column) {
                merged.entry(first[&row]).or_default().absorb(&cell);
            }
            *column = merged;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference((line, kind, missed): (u64, u8, bool)) -> LineReference {
        let kind = [Kind::Fetch, Kind::Load, Kind::Store][usize::from(kind % 3)];
        LineReference {
            line,
            kind,
            missed: [missed, kind == Kind::Load],
        }
    }

    proptest! {
        #[test]
        fn merging_loses_no_reference_and_moves_none_to_another_time(
            references in prop::collection::vec((0..200_u64, any::<u8>(), any::<bool>()), 1..9000),
            most in 50..5000_usize,
        ) {
            let references: Vec<LineReference> = references.into_iter().map(reference).collect();
            let mut grid = Grid::default();
            references.iter().for_each(|reference| grid.add(reference, 0));
            let cells = grid.into_cells(most);
            prop_assert_eq!(cells.references, references.len() as u64);
            prop_assert!(cells.columns.len() <= MOST_COLUMNS);
            let columns = references.chunks(cells.references_per_column as usize);
            prop_assert_eq!(columns.len(), cells.columns.len());
            for (told, column) in columns.zip(&cells.columns) {
                let mut naive = BTreeMap::<u32, [u32; 5]>::new();
                for reference in told {
                    let place = cells.lines.binary_search(&reference.line);
                    let place = place.expect("a line that was referenced");
                    let counts = naive.entry(place as u32 / cells.lines_per_row).or_default();
                    counts[reference.kind as usize] += 1;
                    counts[3] += u32::from(reference.missed[0]);
                    counts[4] += u32::from(reference.missed[1]);
                }
                let counted = column.iter().map(|(row, cell)| {
                    let Cell { fetches, loads, stores, missed, .. } = *cell;
                    (*row, [fetches, loads, stores, missed[0], missed[1]])
                });
                prop_assert_eq!(naive.into_iter().collect::<Vec<_>>(), counted.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_cell_belongs_to_the_code_with_more_than_half_of_its_references() {
        let mut grid = Grid {
            references_per_column: 8,
            ..Grid::default()
        };
        for owner in [4, 7, 7, 4, 7] {
            grid.add(&reference((1, 0, false)), owner);
        }
        grid.add(&reference((2, 0, false)), 4);
        let column = &grid.into_cells(100).columns[0];
        assert_eq!((column[0].1.owner, column[0].1.shared), (7, true));
        assert_eq!((column[1].1.owner, column[1].1.shared), (4, false));
    }
}
