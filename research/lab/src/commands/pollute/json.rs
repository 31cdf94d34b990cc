//! A replay with a pollute buffer as JSON; research/pollute.md lists its keys.

use super::summary::{BINS, Bin, SearchTold, Side, Summary};
use corehop_lab::pollution::{Judge, Tried};
use corehop_partitioner::attribution::mark;
use corehop_simulator::PAGE_BYTES;
use corehop_traces::Trace;
use serde_json::{Value, json};

pub fn render(told: &Summary<'_>, trace: &Trace) -> Value {
    let (replay, colours) = (&told.after.replay, told.colours());
    let addresses = told
        .buffer
        .pages()
        .map(|page| format!("{:#x}", page * PAGE_BYTES));
    let mut object = json!({
        "machine": told.machine.name,
        "trace": told.trace,
        "placement": told.placement,
        "cores": replay.per_core.len(),
        "accesses": replay.accesses,
        "instructions": told.instructions,
        "hops": replay.hops,
        "counters": replay.counters,
        "pollute": {
            "colours": colours.all,
            "buffer_colours": colours.of_buffer,
            "pages": told.before.referenced().count(),
            "confined": addresses.collect::<Vec<_>>(),
            "before": side(&told.before, told),
            "after": side(&told.after, told),
            "miss_rates": miss_rates(&told.before.by_miss_rate()),
        },
    });
    if let Some(search) = &told.search {
        object["pollute"]["search"] = searched(search);
    }
    mark(&mut object, trace);
    object
}

fn side(side: &Side, told: &Summary<'_>) -> Value {
    let confined = side.confined(&told.buffer);
    json!({
        "counters": side.replay.counters,
        "l2_mpki": side.l2_mpki(told.instructions),
        "confined": { "l2_accesses": confined.accesses, "l2_misses": confined.misses },
    })
}

fn miss_rates(bins: &[Bin; BINS]) -> Vec<Value> {
    let bin = |(place, bin): (usize, &Bin)| {
        json!({
            "from": place as f64 / BINS as f64,
            "to": (place + 1) as f64 / BINS as f64,
            "pages": bin.pages,
            "l2_accesses": bin.l2.accesses,
            "l2_misses": bin.l2.misses,
        })
    };
    bins.iter().enumerate().map(bin).collect()
}

fn searched(search: &SearchTold) -> Value {
    let tried = |tried: &Tried| {
        let (pages, l2_misses) = (tried.pages, tried.l2_misses);
        json!({ "pages": pages, "l2_misses": l2_misses, "cycles": tried.cycles })
    };
    json!({
        "judged_by": match search.judge {
            Judge::L2Misses => "l2-misses",
            Judge::Cycles => "cycles",
        },
        "step": search.step,
        "tried": search.tried.iter().map(tried).collect::<Vec<_>>(),
    })
}
