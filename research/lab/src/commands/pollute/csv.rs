//! Every page's L2 accesses and misses as CSV: miss rates by page, as in Soares's figures.

use super::summary::Summary;
use corehop_simulator::PAGE_BYTES;
use std::fmt::Write;

/// The first line.
pub const HEADING: &str = "page,confined,colour,l2_accesses,l2_misses,miss_rate,\
                           l2_accesses_after,l2_misses_after\n";

/// Returns a row for each page that accesses an L2, in ascending order.
pub fn render(told: &Summary<'_>) -> String {
    let mut text = HEADING.to_owned();
    let pages = told.before.pages.iter().zip(&told.after.pages);
    for (before, after) in
        pages.filter(|(before, after)| before.l2_accesses + after.l2_accesses > 0)
    {
        let miss_rate = before.l2_misses as f64 / before.l2_accesses.max(1) as f64;
        let _ = writeln!(
            text,
            "{:#x},{},{},{},{},{miss_rate:.6},{},{}",
            before.page * PAGE_BYTES,
            u8::from(told.buffer.confines(before.page)),
            told.buffer.colour(before.page),
            before.l2_accesses,
            before.l2_misses,
            after.l2_accesses,
            after.l2_misses,
        );
    }
    text
}
