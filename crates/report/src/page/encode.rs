//! Encodes the selected requests for the page's script: a JSON object for each, with binary cells.
//!
//! Cells are many and similar. Each of their fields is therefore a separate stream of LEB128
//! numbers, and all streams together are compressed with zlib, which every browser can decompress.
//! They are in base64, because they are part of a page. `plot.js` decodes the same order.

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

/// Names of code, in the order of their first use.
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

    /// Returns all names so far, by index.
    pub fn all(self) -> Vec<String> {
        self.names
    }
}

/// Encodes one request with its cells.
pub fn request(pictured: &PicturedRequest, names: &mut Names<'_>) -> Value {
    let mut object = summary(pictured, names.trace);
    let cells = compressed(&streams(&pictured.cells, names));
    object["cells"] = BASE64_STANDARD.encode(cells).into();
    object
}

/// Encodes one request without them; `corehop schema report --keys` explains its keys.
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

/// Appends a LEB128 number: seven bits per byte, the lowest first; the highest bit marks
/// continuation.
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
