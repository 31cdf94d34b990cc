//! The physical locations of pages that an export has written.
//!
//! drmemtrace has a pair of markers before the first access to a page, and again when the page
//! moves. Addresses contain the number of their memory, so a page belongs to one process.

use crate::{Execution, PAGE_SHIFT, Trace};
use std::collections::HashMap;

/// Written frames, by page number.
#[derive(Default)]
pub(super) struct Pages(HashMap<u64, u64>);

impl Pages {
    /// Returns the physical address of an address's page and the page's address, if they must be
    /// written before the execution's access.
    pub(super) fn news(
        &mut self,
        trace: &Trace,
        execution: &Execution<'_>,
        address: u64,
    ) -> Option<[u64; 2]> {
        if trace.pages().is_empty() {
            return None;
        }
        let number = address >> PAGE_SHIFT;
        let frame = trace.frame(execution.thread, execution.stamp, address)?;
        let is_known = self.0.insert(number, frame) == Some(frame);
        (!is_known).then_some([frame << PAGE_SHIFT, number << PAGE_SHIFT])
    }
}
