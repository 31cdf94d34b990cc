//! The caches of one CPU as levels of a machine, with the assumptions made about them.

use crate::machine::description::{CORES_MAXIMUM, LINE_SIZE_BYTES, Level};
use crate::machine::impossible::WAYS_MAXIMUM;
use corehop_support::topology::{Cache, Cpu, CpuNumbers, Holds, Reading, Topology, Unknown};
use std::fmt::{Display, Formatter};
use std::path::PathBuf;

/// Latency of the L3 in cycles.
pub(super) const L3_LATENCY_CYCLES: u32 = 45;

/// Number of ways if it cannot be determined.
const USUAL_WAYS: u64 = 16;

/// The caches of one CPU.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    pub(super) l1i: Level,
    pub(super) l1d: Level,
    pub(super) l2: Level,
    /// The L3, with the CPUs that share it.
    pub(super) l3: Option<(Level, CpuNumbers)>,
    /// The assumptions, one sentence each.
    pub(super) assumed: Vec<String>,
}

/// Returns the folder that describes the caches of a CPU.
pub(super) fn folder(topology: &Topology, number: usize) -> PathBuf {
    topology.root().join(format!("cpu{number}/cache"))
}

impl Caches {
    /// Reads the caches of an online CPU.
    pub(super) fn of(topology: &Topology, number: usize) -> Result<Caches, Unknown> {
        let folder = folder(topology, number);
        let missing = |what: &str| Unknown {
            path: folder.clone(),
            problem: format!("no {what} described"),
        };
        let cpu = topology.cpu(number);
        let cpu = cpu.filter(|cpu| !cpu.caches.is_empty());
        let cpu = cpu.ok_or_else(|| missing("caches are"))?;
        let mut assumed = Vec::new();
        let l1d = cpu.cache(1, Holds::Data);
        let l1d = l1d.ok_or_else(|| missing("level 1 data cache is"))?;
        let l2 = cpu.cache(2, Holds::Data);
        let l2 = l2.ok_or_else(|| missing("level 2 cache is"))?;
        let l1i = cpu.cache(1, Holds::Instructions).unwrap_or_else(|| {
            let cache = folder.display();
            assumed.push(format!(
                "{cache}: no level 1 instruction cache is described: one like the data cache is \
                 assumed"
            ));
            l1d
        });
        if l2.holds == Holds::Data {
            let l2 = l2.folder.display();
            assumed.push(format!(
                "{l2}: it holds data alone: one for code too is assumed"
            ));
        }
        assumed.extend(several(cpu, l1d));
        let mut level = |cache: &Cache, latency_cycles, sets| {
            let mut level = level(cache, sets, &mut assumed)?;
            level.latency_cycles = latency_cycles;
            let cores = topology.cores(cache.shared_by.iter().copied());
            level.shared_by = cores.clamp(1, CORES_MAXIMUM as usize) as u32;
            Ok::<Level, Unknown>(level)
        };
        let l1d = level(l1d, 4, Sets::PowerOfTwo)?;
        let l1i = level(l1i, 4, Sets::PowerOfTwo)?;
        let l2 = level(l2, 12, Sets::PowerOfTwo)?;
        let l3 = cpu.cache(3, Holds::Data).map(|cache| {
            let level = level(cache, L3_LATENCY_CYCLES, Sets::Any)?;
            let all = Level {
                shared_by: 1,
                ..level
            };
            Ok::<_, Unknown>((all, cache.shared_by.clone()))
        });
        let l3 = l3.transpose().unwrap_or_else(|unknown| {
            assumed.push(format!("{unknown}: a machine without L3 is assumed"));
            None
        });
        Ok(Caches {
            l1i,
            l1d,
            l2,
            l3,
            assumed,
        })
    }

    /// Returns whether the other caches have the same sizes, ways and sharing.
    pub(super) fn is_like(&self, other: &Caches) -> bool {
        let levels = |of: &Caches| (of.l1i, of.l1d, of.l2, of.l3.as_ref().map(|l3| l3.0));
        levels(self) == levels(other)
    }
}

/// For example `L1I 32 KiB, L1D 48 KiB, L2 2048 KiB of 4 cores, L3 12288 KiB`.
impl Display for Caches {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let kib = |level: &Level| level.size_bytes >> 10;
        let (l1i, l1d, l2) = (kib(&self.l1i), kib(&self.l1d), kib(&self.l2));
        write!(f, "L1I {l1i} KiB, L1D {l1d} KiB, L2 {l2} KiB")?;
        if self.l2.shared_by > 1 {
            write!(f, " of {} cores", self.l2.shared_by)?;
        }
        match &self.l3 {
            Some((l3, _)) => write!(f, ", L3 {} KiB", kib(l3)),
            None => f.write_str(", no L3"),
        }
    }
}

/// Returns an assumption if several level 1 data caches are described.
fn several(cpu: &Cpu, taken: &Cache) -> Option<String> {
    let alike = |cache: &&Cache| (cache.level, cache.holds) == (taken.level, taken.holds);
    let count = cpu.caches.iter().filter(alike).count();
    let folder = taken.folder.display();
    (count > 1).then(|| {
        format!("{folder}: the smallest of {count} level 1 data caches is assumed to be the L1D")
    })
}

/// The allowed numbers of sets of a level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sets {
    PowerOfTwo,
    Any,
}

/// Converts a cache to a level with latency 0.
fn level(cache: &Cache, sets: Sets, assumed: &mut Vec<String>) -> Result<Level, Unknown> {
    assumed.extend(cache.assumed.iter().cloned());
    let size_bytes = size_bytes(cache, assumed)?;
    match &cache.line_bytes {
        Ok(LINE_SIZE_BYTES) => {}
        Ok(bytes @ 1..) => assumed.push(format!(
            "{}: lines of {bytes} bytes are counted as lines of {LINE_SIZE_BYTES}",
            cache.folder.display()
        )),
        reading => assumed.push(format!(
            "{}: lines of {LINE_SIZE_BYTES} bytes are assumed",
            lacking(cache, "coherency_line_size", reading)
        )),
    }
    let ways = ways(cache, size_bytes, sets, assumed)?;
    Ok(Level::new(size_bytes, ways, 0))
}

/// Returns the file, and what is wrong with it.
fn lacking(cache: &Cache, file: &str, reading: &Reading) -> Unknown {
    match reading {
        Err(unknown) => unknown.clone(),
        Ok(number) => Unknown {
            path: cache.folder.join(file),
            problem: format!("{number} is reported"),
        },
    }
}

fn known(reading: &Reading) -> Option<u64> {
    reading.as_ref().ok().copied().filter(|&number| number > 0)
}

/// Returns the reported size, or otherwise the product of ways, sets and line size.
fn size_bytes(cache: &Cache, assumed: &mut Vec<String>) -> Result<u64, Unknown> {
    if let Some(bytes) = known(&cache.size_bytes) {
        return Ok(bytes);
    }
    let lacking = lacking(cache, "size", &cache.size_bytes);
    let parts = [&cache.ways, &cache.sets, &cache.line_bytes];
    let product = parts
        .into_iter()
        .try_fold(1u64, |product, part| product.checked_mul(known(part)?));
    let Some(bytes) = product else {
        return Err(lacking);
    };
    let kib = bytes >> 10;
    assumed.push(format!(
        "{lacking}: {kib} KiB are assumed, as ways, sets and lines make"
    ));
    Ok(bytes)
}

/// Returns the reported number of ways if it can be simulated. Otherwise returns the number
/// computed from size and sets, or the nearest possible number.
fn ways(
    cache: &Cache,
    size_bytes: u64,
    sets: Sets,
    assumed: &mut Vec<String>,
) -> Result<u32, Unknown> {
    let lines = size_bytes / LINE_SIZE_BYTES;
    let is_possible = |ways: u64| {
        (1..=u64::from(WAYS_MAXIMUM)).contains(&ways)
            && size_bytes.is_multiple_of(ways * LINE_SIZE_BYTES)
            && lines > 0
            && (sets == Sets::Any || (lines / ways).is_power_of_two())
    };
    let reported = known(&cache.ways);
    if let Some(ways) = reported.filter(|&ways| is_possible(ways)) {
        return Ok(ways as u32);
    }
    let line_bytes = known(&cache.line_bytes).unwrap_or(LINE_SIZE_BYTES);
    let of_sets = known(&cache.sets).and_then(|sets| {
        let way_bytes = sets.checked_mul(line_bytes)?;
        let ways = size_bytes / way_bytes;
        (size_bytes.is_multiple_of(way_bytes) && is_possible(ways)).then_some(ways)
    });
    let wanted = reported.unwrap_or(USUAL_WAYS);
    let apart = |ways: &u64| wanted.max(*ways) as f64 / wanted.min(*ways) as f64;
    let possible = (1..=u64::from(WAYS_MAXIMUM))
        .rev()
        .filter(|&ways| is_possible(ways));
    let nearest = || possible.min_by(|one, other| apart(one).total_cmp(&apart(other)));
    let kind = match sets {
        Sets::PowerOfTwo => "a power of two of sets",
        Sets::Any => "whole sets",
    };
    let Some(ways) = of_sets.or_else(nearest) else {
        return Err(Unknown {
            path: cache.folder.join("size"),
            problem: format!("{size_bytes} bytes make {kind} in no number of ways"),
        });
    };
    let why = match reported {
        None => lacking(cache, "ways_of_associativity", &cache.ways).to_string(),
        Some(reported) => {
            let folder = cache.folder.display();
            match reported > u64::from(WAYS_MAXIMUM) {
                true => format!("{folder}: more than {WAYS_MAXIMUM} ways cannot be simulated"),
                false => format!("{folder}: {size_bytes} bytes in {reported} ways are not {kind}"),
            }
        }
    };
    let how = of_sets.map_or("", |_| ", as size and sets make");
    assumed.push(format!("{why}: {ways} ways are assumed{how}"));
    Ok(ways as u32)
}
