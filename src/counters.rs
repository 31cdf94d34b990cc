//! The machine's own counters of cache misses (perf_event_open(2)): which of them can be opened.
//!
//! Whether a processor has a counter and whether this process may use it is not written anywhere:
//! it is tried.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Raw};
use perf_event::{Builder, Counter};

/// Something that can be counted.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// As it is reported.
    pub name: &'static str,
    event: Event,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Hardware(Hardware),
    Cache(CacheId),
    Raw(u64),
}

/// L2 misses of fetches and data, in each vendor's own encoding: L2_RQSTS.MISS of Intel's event
/// lists (Haswell and later), and of AMD's processor programming references L2CacheReqStat with the
/// units for misses of instructions and data (Zen and later).
const L2_MISSES: [(&str, u64); 2] = [("GenuineIntel", 0x3f24), ("AuthenticAMD", 0x0964)];

/// Everything that a processor may be able to count.
fn kinds() -> Vec<Kind> {
    let cache = |name, id| Kind {
        name,
        event: Event::Cache(id),
    };
    let mut kinds = vec![
        Kind {
            name: "instructions",
            event: Event::Hardware(Hardware::INSTRUCTIONS),
        },
        cache("L1I read misses", CacheId::L1I),
        cache("L1D read misses", CacheId::L1D),
    ];
    let vendor = vendor();
    let l2 = L2_MISSES
        .iter()
        .find(|(name, _)| vendor.as_deref() == Some(name));
    kinds.extend(l2.map(|(_, code)| Kind {
        name: "L2 misses",
        event: Event::Raw(*code),
    }));
    kinds.push(Kind {
        name: "last-level misses",
        event: Event::Hardware(Hardware::CACHE_MISSES),
    });
    kinds
}

fn vendor() -> Option<String> {
    use procfs::Current;
    let processors = procfs::CpuInfo::current().ok()?;
    Some(processors.vendor_id(0)?.to_owned())
}

/// Those that this machine lets this process count, or why it lets it count none.
pub fn available() -> Result<Vec<Kind>, String> {
    let tried = kinds().into_iter().map(|kind| (kind, open(kind.event)));
    let (mut available, mut reason) = (Vec::new(), String::new());
    for (kind, opened) in tried {
        match opened {
            Ok(_) => available.push(kind),
            Err(error) => reason = error.to_string(),
        }
    }
    match available.is_empty() {
        true => Err(reason),
        false => Ok(available),
    }
}

/// A counter of the calling thread.
fn open(event: Event) -> std::io::Result<Counter> {
    let builder = match event {
        Event::Hardware(event) => Builder::new(event),
        Event::Cache(which) => Builder::new(Cache {
            which,
            operation: CacheOp::READ,
            result: CacheResult::MISS,
        }),
        Event::Raw(code) => Builder::new(Raw::new(code)),
    };
    builder.build()
}
