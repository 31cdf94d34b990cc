//! Objects on the server's heap, from the plugin's reports to the trace.

use corehop_traces::{AllocatedObject, Error, HeapEvent, Writer};
use corehop_wire::ring::HeapChange;

/// Adds a change of the heap to the trace. Impossible ones come from a stray store of the server
/// into the shared memory, and are ignored.
pub fn add(change: HeapChange, writer: &mut Writer) -> Result<(), Error> {
    let mut event = HeapEvent {
        process_id: change.process,
        since: change.since,
        address: change.address,
        size_bytes: change.size_bytes,
        object: None,
    };
    if !event.is_possible() {
        return Ok(());
    }
    if !change.allocator.is_empty() {
        event.object = Some(AllocatedObject {
            allocator: writer.allocator(&change.allocator)?,
            site: change.site,
        });
    }
    writer.heap_event(event)
}
