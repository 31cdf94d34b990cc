//! A request's touches as cells of a grid: time across, lines up, exact counts in each cell.
//!
//! A request has a hundred thousand touches and more, a screen some thousand columns. So touches
//! that follow each other share a column, as many as it takes to keep to [`MOST_COLUMNS`]: whenever
//! a column more is needed, neighbours are merged, so nothing has to be known of the request
//! beforehand and no touch is kept. Only lines that were touched have a row. Where that still makes
//! more cells than wanted, columns and then lines are merged further; counts stay exact throughout.

use super::pass::Touch;
use corehop_traces::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a request before neighbours are merged.
const MOST_COLUMNS: usize = 2048;

/// Columns that merging for fewer cells leaves at least.
const FEWEST_COLUMNS: usize = 512;

/// What touched the lines of a cell in the time of its column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    pub fetches: u32,
    pub loads: u32,
    pub stores: u32,
    /// L2 misses of these on one core, and with the plan.
    pub missed: [u32; 2],
    /// Whose code most of these touches are of, where some code made more than half of them.
    pub owner: u32,
    /// Whether other code touched the cell too.
    pub shared: bool,
    /// By how many touches the owner leads, by majority vote (Boyer and Moore, 1991).
    lead: u32,
}

impl Cell {
    fn touch(&mut self, touch: &Touch, owner: u32) {
        let kind = match touch.kind {
            Kind::Fetch => &mut self.fetches,
            Kind::Load => &mut self.loads,
            Kind::Store => &mut self.stores,
        };
        *kind += 1;
        for (sum, missed) in self.missed.iter_mut().zip(touch.missed) {
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
        let fresh = self.touches() == 0;
        self.fetches += other.fetches;
        self.loads += other.loads;
        self.stores += other.stores;
        for (sum, missed) in self.missed.iter_mut().zip(other.missed) {
            *sum += missed;
        }
        self.shared |= other.shared || (!fresh && self.owner != other.owner);
        self.vote(other.owner, other.lead);
    }

    /// All touches.
    pub fn touches(&self) -> u64 {
        u64::from(self.fetches) + u64::from(self.loads) + u64::from(self.stores)
    }
}

/// Cells of one column, by line.
type Column = BTreeMap<u64, Cell>;

/// A request as it is told, touch by touch.
#[derive(Clone, Debug)]
pub struct Grid {
    /// How many touches share a column; the last may have fewer.
    touches_per_column: u64,
    /// By time, each by line; once rows were merged, by the first line of the row.
    columns: Vec<Column>,
    touches: u64,
}

/// A request as cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// How many touches share a column; the last may have fewer.
    pub touches_per_column: u64,
    /// By time, each by row, ascending.
    pub columns: Vec<Vec<(u32, Cell)>>,
    /// All lines touched, ascending: row `r` is the lines from place `r * lines_per_row` on.
    pub lines: Vec<u64>,
    /// Lines in a row; the last may have fewer.
    pub lines_per_row: u32,
    /// All touches.
    pub touches: u64,
}

impl Default for Grid {
    fn default() -> Self {
        Grid {
            touches_per_column: 1,
            columns: Vec::new(),
            touches: 0,
        }
    }
}

impl Grid {
    /// Code of `owner` touches a line.
    pub fn touch(&mut self, touch: &Touch, owner: u32) {
        let column = (self.touches / self.touches_per_column) as usize;
        if column == MOST_COLUMNS {
            self.merge_columns();
            return self.touch(touch, owner);
        }
        if column == self.columns.len() {
            self.columns.push(Column::new());
        }
        let cell = self.columns[column].entry(touch.line).or_default();
        cell.touch(touch, owner);
        self.touches += 1;
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

    /// The cells, merged until there are no more than `most`, or nothing is left to merge.
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
            touches_per_column: self.touches_per_column,
            columns: columns.collect(),
            lines,
            lines_per_row,
            touches: self.touches,
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
        self.touches_per_column *= 2;
    }

    /// Makes one of each two rows that follow each other; false when there is only one.
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

    fn touch((line, kind, missed): (u64, u8, bool)) -> Touch {
        let kind = [Kind::Fetch, Kind::Load, Kind::Store][usize::from(kind % 3)];
        Touch {
            line,
            kind,
            missed: [missed, kind == Kind::Load],
        }
    }

    proptest! {
        #[test]
        fn merging_loses_no_touch_and_moves_none_to_another_time(
            touches in prop::collection::vec((0..200_u64, any::<u8>(), any::<bool>()), 1..9000),
            most in 50..5000_usize,
        ) {
            let touches: Vec<Touch> = touches.into_iter().map(touch).collect();
            let mut grid = Grid::default();
            touches.iter().for_each(|touch| grid.touch(touch, 0));
            let cells = grid.into_cells(most);
            prop_assert_eq!(cells.touches, touches.len() as u64);
            prop_assert!(cells.columns.len() <= MOST_COLUMNS);
            let columns = touches.chunks(cells.touches_per_column as usize);
            prop_assert_eq!(columns.len(), cells.columns.len());
            for (told, column) in columns.zip(&cells.columns) {
                let mut naive = BTreeMap::<u32, [u32; 5]>::new();
                for touch in told {
                    let place = cells.lines.binary_search(&touch.line).expect("it was touched");
                    let counts = naive.entry(place as u32 / cells.lines_per_row).or_default();
                    counts[touch.kind as usize] += 1;
                    counts[3] += u32::from(touch.missed[0]);
                    counts[4] += u32::from(touch.missed[1]);
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
    fn a_cell_belongs_to_the_code_with_more_than_half_of_its_touches() {
        let mut grid = Grid {
            touches_per_column: 8,
            ..Grid::default()
        };
        for owner in [4, 7, 7, 4, 7] {
            grid.touch(&touch((1, 0, false)), owner);
        }
        grid.touch(&touch((2, 0, false)), 4);
        let column = &grid.into_cells(100).columns[0];
        assert_eq!((column[0].1.owner, column[0].1.shared), (7, true));
        assert_eq!((column[1].1.owner, column[1].1.shared), (4, false));
    }
}
