//! Physical locations of pages, as columns of a mappings entry.
//!
//! The kernel maps all memory at one distance, and many other pages are consecutive. So a page's
//! number is stored as the difference from the preceding page, and its physical page as the
//! difference from its number.

use crate::format::column::{Packed, pack, room, unpack};
use crate::format::definition::MAX_DEFINITIONS;
use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::mappings;
use crate::model::page::Page;
use zstd::bulk::{Compressor, Decompressor};

/// The columns of pages.
pub struct PackedPages {
    count: u32,
    columns: [Packed; 3],
}

impl PackedPages {
    /// Size of the compressed columns.
    pub fn size_bytes(&self) -> usize {
        room(&self.columns)
    }

    /// Stores the columns in an entry.
    pub fn store(&self, mut entry: mappings::Builder<'_>) {
        let [since, numbers, distances] = &self.columns;
        entry.set_page_count(self.count);
        since.store(entry.reborrow().init_pages_since());
        numbers.store(entry.reborrow().init_page_numbers());
        distances.store(entry.init_page_distances());
    }
}

/// Packs pages of one process, or of none.
pub fn pack_pages(compressor: &mut Compressor<'_>, all: &[Page]) -> std::io::Result<PackedPages> {
    let column = |value: fn(&Page) -> u64| all.iter().map(value).collect::<Vec<u64>>();
    let mut before = 0;
    let steps = all.iter().map(|page| {
        page.number
            .wrapping_sub(std::mem::replace(&mut before, page.number))
    });
    let columns = [
        column(|page| page.since),
        steps.collect(),
        column(|page| page.number.wrapping_sub(page.frame)),
    ];
    let [since, numbers, distances] = columns.map(|column| pack(compressor, &column));
    Ok(PackedPages {
        count: all.len() as u32,
        columns: [since?, numbers?, distances?],
    })
}

/// Reads the pages of an entry; empty if it has none.
pub fn read_pages(
    decompressor: &mut Decompressor<'_>,
    entry: mappings::Reader<'_>,
) -> Result<Vec<Page>, Violation> {
    let count = entry.get_page_count() as usize;
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > MAX_DEFINITIONS {
        return Err(Rule::Columns.broken(format!("one entry claims {count} pages")));
    }
    let (mut since, mut steps, mut distances) = (Vec::new(), Vec::new(), Vec::new());
    let columns = [
        (entry.get_pages_since(), "pagesSince", &mut since),
        (entry.get_page_numbers(), "pageNumbers", &mut steps),
        (entry.get_page_distances(), "pageDistances", &mut distances),
    ];
    for (column, name, values) in columns {
        unpack::<u64>(decompressor, column, name, count, values)?;
    }
    let process_id = entry.get_process_id();
    let all = since.into_iter().zip(steps).zip(distances);
    let mut number: u64 = 0;
    let pages = all.map(|((since, step), distance)| {
        number = number.wrapping_add(step);
        Page {
            process_id,
            since,
            number,
            frame: number.wrapping_sub(distance),
        }
    });
    Ok(pages.collect())
}
