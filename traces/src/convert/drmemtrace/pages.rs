//! What of a machine's pages was told to readers of an export.
//!
//! drmemtrace has a pair of markers before the first access to a page, and again where the page is
//! elsewhere. Addresses have the number of their memory in front, so a page is one process's.

use crate::{Execution, PAGE_SHIFT, Trace};
use std::collections::HashMap;

/// By number, where pages were told to be.
#[derive(Default)]
pub(super) struct Pages(HashMap<u64, u64>);

impl Pages {
    /// The physical address of the page of an address, and the page's, where that is to be told
    /// before the execution's access to it.
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
