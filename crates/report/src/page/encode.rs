//! The requests shown, as the page's script reads them: a JSON object for each, with the cells as
//! bytes.
//!
//! Cells are many and alike, so each of their fields is a stream of its own, in LEB128 numbers, and
//! all streams together are compressed as zlib does, which every browser can undo; in base64, since
//! they travel inside a page. `plot.js` reads the same order.

use crate::pass::grid::{Cell, Cells};
use crate::pass::pictured::{PicturedRequest, Stay};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use corehop_simulator::detail::Attribution;
use corehop_traces::Trace;
use flate2::{Compression, write::ZlibEncoder};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;

/// Names of code in the order in which they were first needed.
pub struct Names<'t> {
    trace: &'t Trace,
    attribution: &'t Attribution,
    places: HashMap<u32, usize>,
    names: Vec<String>,
}

impl<'t> Names<'t> {
    pub fn new(trace: &'t Trace, attribution: &'t Attribution) -> Names<'t> {
        Names {
            trace,
            attribution,
            places: HashMap::new(),
            names: Vec::new(),
        }
    }

    fn place(&mut self, owner: u32) -> usize {
        let next = self.names.len();
        let place = *self.places.entry(owner).or_insert(next);
        if place == next {
            let owner = self.attribution.owner(owner as usize);
            self.names.push(owner.name(self.trace));
        }
        place
    }

    /// All names so far, by place.
    pub fn all(self) -> Vec<String> {
        self.names
    }
}

/// One request with its cells.
pub fn request(pictured: &PicturedRequest, names: &mut Names<'_>) -> Value {
    let mut object = summary(pictured, names.trace);
    let cells = compressed(&streams(&pictured.cells, names));
    object["cells"] = BASE64_STANDARD.encode(cells).into();
    object
}

/// One request without them; `corehop schema report --keys` says what its keys mean.
pub fn summary(pictured: &PicturedRequest, trace: &Trace) -> Value {
    let cells = &pictured.cells;
    let regions = pictured.regions.iter();
    let regions = regions.map(|region| json!([region.first, region.name]));
    let stay = |stay: &Stay| {
        let entered = stay
            .entered
            .map(|function| &trace.functions()[function.index()].name);
        json!([stay.begins, stay.core, entered, stay.missed])
    };
    json!({
        "request": pictured.request,
        "thread": pictured.thread,
        "counted": pictured.counted,
        "touches": cells.references,
        "touches_per_column": cells.references_per_column,
        "columns": cells.columns.len(),
        "lines": cells.lines.len(),
        "lines_per_row": cells.lines_per_row,
        "missed": pictured.missed,
        "regions": regions.collect::<Vec<_>>(),
        "stays": pictured.stays.iter().map(stay).collect::<Vec<_>>(),
    })
}

/// The streams, one after the other: lines as differences; cells in each column; rows as
/// differences within a column; and each count.
fn streams(cells: &Cells, names: &mut Names<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = 0;
    for &line in &cells.lines {
        number(&mut bytes, line - before);
        before = line;
    }
    for column in &cells.columns {
        number(&mut bytes, column.len() as u64);
    }
    for column in &cells.columns {
        let mut before = 0;
        for &(row, _) in column {
            number(&mut bytes, u64::from(row - before));
            before = row;
        }
    }
    let mut stream = |of: &mut dyn FnMut(&Cell) -> u64| {
        for (_, cell) in cells.columns.iter().flatten() {
            number(&mut bytes, of(cell));
        }
    };
    stream(&mut |cell| cell.fetches.into());
    stream(&mut |cell| cell.loads.into());
    stream(&mut |cell| cell.stores.into());
    stream(&mut |cell| cell.missed[0].into());
    stream(&mut |cell| cell.missed[1].into());
    stream(&mut |cell| names.place(cell.owner) as u64 * 2 + u64::from(cell.shared));
    bytes
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory")
}
