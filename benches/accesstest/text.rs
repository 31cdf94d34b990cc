//! The thesis's figures for delegation: Curto, "Execution Delegation via User Thread Migration",
//! section 5.3.2, figures 5.4 to 5.6.

use crate::grid::{Grid, Level};

/// A figure: the change of throughput by delegation, at the best or worst of some points.
pub struct Figure {
    pub name: &'static str,
    pub ratio: f64,
    pub level: Level,
    /// Selects the points by size in levels and updates in percent.
    pub is_of: fn(f64, f64) -> bool,
    pub is_most: bool,
}

/// Around L3s, the thesis shows "roughly the same" for both, with any updates.
pub const TEXT: [Figure; 7] = [
    Figure {
        name: "set below an L1D, 0 %, at worst",
        ratio: 0.59,
        level: Level::L1d,
        is_of: |size, updates| size < 1.0 && updates == 0.0,
        is_most: false,
    },
    Figure {
        name: "L1D to twice, 0 %, at best",
        ratio: 1.33,
        level: Level::L1d,
        is_of: |size, updates| size > 1.0 && updates == 0.0,
        is_most: true,
    },
    Figure {
        name: "around an L1D, 100 %, at best",
        ratio: 3.37,
        level: Level::L1d,
        is_of: |_, updates| updates == 100.0,
        is_most: true,
    },
    Figure {
        name: "L2 to twice, 0 %, at best",
        ratio: 2.54,
        level: Level::L2,
        is_of: |size, updates| size > 1.0 && updates == 0.0,
        is_most: true,
    },
    Figure {
        name: "around an L2, 100 %, at best",
        ratio: 4.84,
        level: Level::L2,
        is_of: |_, updates| updates == 100.0,
        is_most: true,
    },
    Figure {
        name: "around an L3, any, at worst",
        ratio: 1.0,
        level: Level::L3,
        is_of: |_, _| true,
        is_most: false,
    },
    Figure {
        name: "around an L3, any, at best",
        ratio: 1.0,
        level: Level::L3,
        is_of: |_, _| true,
        is_most: true,
    },
];

impl Figure {
    /// Returns the same figure of a grid's ratios; `None` if the grid has no such point.
    pub fn of(&self, grid: &Grid, ratios: &[f64]) -> Option<f64> {
        let ratios = grid.select(ratios, self.level, self.is_of);
        match self.is_most {
            true => ratios.reduce(f64::max),
            false => ratios.reduce(f64::min),
        }
    }
}
