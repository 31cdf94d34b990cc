//! Heap events, as columns of a mappings entry.
//!
//! Allocators reuse memory that was freed last, so an address is stored as the difference from the
//! preceding event's. Stamps ascend nearly always.

use crate::format::column::{Packed, pack, room, unpack};
use crate::format::definition::MAX_DEFINITIONS;
use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::mappings;
use crate::model::heap_event::{AllocatedObject, HeapEvent};
use zstd::bulk::{Compressor, Decompressor};

/// The columns of heap events.
pub struct PackedHeapEvents {
    count: u32,
    /// Stamps, addresses, sizes, functions, sites.
    columns: [Packed; 5],
}

impl PackedHeapEvents {
    /// Size of the compressed columns.
    pub fn size_bytes(&self) -> usize {
        room(&self.columns)
    }

    /// Stores the columns in an entry.
    pub fn store(&self, mut entry: mappings::Builder<'_>) {
        let [since, addresses, sizes, functions, sites] = &self.columns;
        entry.set_heap_event_count(self.count);
        since.store(entry.reborrow().init_heap_events_since());
        addresses.store(entry.reborrow().init_heap_event_addresses());
        sizes.store(entry.reborrow().init_heap_event_sizes());
        functions.store(entry.reborrow().init_heap_event_functions());
        sites.store(entry.init_heap_event_sites());
    }
}

/// Packs events of one process.
pub fn pack_heap_events(
    compressor: &mut Compressor<'_>,
    all: &[HeapEvent],
) -> std::io::Result<PackedHeapEvents> {
    let steps = |value: fn(&HeapEvent) -> u64| {
        let mut before = 0;
        let values = all.iter().map(value);
        let steps = values.map(|value| value.wrapping_sub(std::mem::replace(&mut before, value)));
        steps.collect::<Vec<u64>>()
    };
    let column = |value: fn(&HeapEvent) -> u64| all.iter().map(value).collect::<Vec<u64>>();
    let number = |event: &HeapEvent| event.object.map_or(0, |object| object.allocator + 1);
    let functions: Vec<u16> = all.iter().map(number).collect();
    let columns = [
        pack(compressor, &steps(|event| event.since))?,
        pack(compressor, &steps(|event| event.address))?,
        pack(compressor, &column(|event| event.size_bytes))?,
        pack(compressor, &functions)?,
        pack(
            compressor,
            &column(|event| event.object.map_or(0, |object| object.site)),
        )?,
    ];
    Ok(PackedHeapEvents {
        count: all.len() as u32,
        columns,
    })
}

/// Reads the heap events of an entry; empty if it has none. `allocators` are named so far.
pub fn read_heap_events(
    decompressor: &mut Decompressor<'_>,
    entry: mappings::Reader<'_>,
    allocators: usize,
) -> Result<Vec<HeapEvent>, Violation> {
    let count = entry.get_heap_event_count() as usize;
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > MAX_DEFINITIONS {
        return Err(Rule::Columns.broken(format!("one entry claims {count} heap events")));
    }
    let (mut since, mut addresses, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut functions, mut sites) = (Vec::new(), Vec::new());
    let columns = [
        (entry.get_heap_events_since(), "heapEventsSince", &mut since),
        (
            entry.get_heap_event_addresses(),
            "heapEventAddresses",
            &mut addresses,
        ),
        (entry.get_heap_event_sizes(), "heapEventSizes", &mut sizes),
        (entry.get_heap_event_sites(), "heapEventSites", &mut sites),
    ];
    for (column, name, values) in columns {
        unpack::<u64>(decompressor, column, name, count, values)?;
    }
    let column = entry.get_heap_event_functions();
    unpack::<u16>(
        decompressor,
        column,
        "heapEventFunctions",
        count,
        &mut functions,
    )?;
    let (mut stamp, mut address) = (0u64, 0u64);
    let mut all = Vec::with_capacity(count);
    for place in 0..count {
        stamp = stamp.wrapping_add(since[place]);
        address = address.wrapping_add(addresses[place]);
        let object = functions[place].checked_sub(1);
        let event = HeapEvent {
            process_id: entry.get_process_id(),
            since: stamp,
            address,
            size_bytes: sizes[place],
            object: object.map(|allocator| AllocatedObject {
                allocator,
                site: sites[place],
            }),
        };
        let checked = event.check(allocators);
        checked.map_err(|detail| Rule::Mappings.broken(detail))?;
        all.push(event);
    }
    Ok(all)
}
