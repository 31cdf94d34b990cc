//! Heap events, and names of allocators, that wait to be written.

use crate::model::heap_event::HeapEvent;
use std::collections::HashMap;

/// Heap events that are not written yet.
#[derive(Default)]
pub(super) struct NewHeapEvents {
    pub numbers: HashMap<String, u16>,
    pub allocators: Vec<String>,
    pub events: Vec<HeapEvent>,
}
