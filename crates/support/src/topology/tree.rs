//! Reads the folder in which the kernel describes CPUs.

use super::description::{Cache, Cpu, Holds, Reading, Topology, Unknown};
use super::notation::{self, CpuNumbers, Size};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder in which Linux describes CPUs and their caches.
pub const SYSFS: &str = "/sys/devices/system/cpu";

impl Topology {
    /// Reads the description below `root`, normally [`SYSFS`]. An empty result means that nothing
    /// is described there.
    pub fn read(root: &Path) -> Topology {
        let online = online(root);
        let described = online.iter().map(|&number| {
            let folder = root.join(format!("cpu{number}"));
            (number, Described::read(&folder))
        });
        let all: BTreeMap<usize, Described> = described.collect();
        let cpu = |(&number, own): (&usize, &Described)| (number, own.among(number, &all));
        Topology {
            root: root.into(),
            cpus: all.iter().map(cpu).collect(),
        }
    }

    /// Reads this machine's description.
    pub fn here() -> Topology {
        Topology::read(Path::new(SYSFS))
    }
}

/// Returns the CPUs that are online. Each has a file that reports this, except often the first one,
/// for which the list of all CPUs is used. A container may renumber the list (lxcfs) but not the
/// files.
fn online(root: &Path) -> CpuNumbers {
    let there: CpuNumbers = numbered(root, "cpu").into_keys().collect();
    let listed = text(&root.join("online")).and_then(|text| notation::list(&text));
    let listed = listed.filter(|listed| !listed.is_empty());
    let is_online = |cpu: &usize| match text(&root.join(format!("cpu{cpu}/online"))).as_deref() {
        Some("0") => false,
        Some("1") => true,
        _ => listed.as_ref().is_none_or(|listed| listed.contains(cpu)),
    };
    there.into_iter().filter(is_online).collect()
}

/// Returns the folders named `prefix` followed by a number.
fn numbered(parent: &Path, prefix: &str) -> BTreeMap<usize, PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let folder = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix(prefix)?;
        let number = notation::decimal(number)?.try_into().ok()?;
        Some((number, entry.path()))
    };
    entries.filter_map(folder).collect()
}

/// Returns the text of a file; `None` if there is none.
fn text(path: &Path) -> Option<String> {
    contents(path).ok()
}

/// The contents of one CPU's files.
struct Described {
    siblings: Option<CpuNumbers>,
    /// Package, die and core, which together identify a physical core.
    ids: Option<[u64; 3]>,
    package: Option<u64>,
    node: Option<usize>,
    caches: Vec<DescribedCache>,
}

struct DescribedCache {
    cache: Cache,
    /// The same on all CPUs that share the cache; unique with the level and the type of contents.
    id: Option<u64>,
    is_sharing_reported: bool,
}

impl Described {
    fn read(folder: &Path) -> Described {
        let topology = folder.join("topology");
        let id = |file: &str| number(&topology.join(file)).ok();
        let package = id("physical_package_id");
        // Linux 5.3 renamed the first to the second, and keeps both.
        let siblings = set(&topology, ["thread_siblings", "core_cpus"]);
        let core = package.zip(id("core_id"));
        Described {
            siblings,
            ids: core.map(|(package, core)| [package, id("die_id").unwrap_or(0), core]),
            package,
            // A link to the folder of its node.
            node: numbered(folder, "node").into_keys().next(),
            caches: numbered(&folder.join("cache"), "index")
                .into_values()
                .filter_map(|folder| DescribedCache::read(&folder))
                .collect(),
        }
    }

    /// Combines this CPU's description with those of `all` CPUs.
    fn among(&self, number: usize, all: &BTreeMap<usize, Described>) -> Cpu {
        let like = |is_like: &dyn Fn(&Described) -> bool| {
            let like = all.iter().filter(|(_, other)| is_like(other));
            let like = like.map(|(&number, _)| number);
            like.chain([number]).collect::<CpuNumbers>()
        };
        let online = |mut cpus: CpuNumbers| {
            cpus.retain(|cpu| all.contains_key(cpu));
            cpus.insert(number);
            cpus
        };
        let first_level = self.caches.iter().find(|cache| {
            let Cache { level, holds, .. } = cache.cache;
            cache.is_sharing_reported && level == 1 && holds != Holds::Instructions
        });
        let siblings = match (&self.siblings, self.ids, first_level) {
            (Some(siblings), ..) => Some(online(siblings.clone())),
            (None, Some(ids), _) => Some(like(&|other| other.ids == Some(ids))),
            (None, None, Some(first)) => Some(online(first.cache.shared_by.clone())),
            (None, None, None) => None,
        };
        let shared = |own: &DescribedCache| {
            let mut cache = own.cache.clone();
            if own.is_sharing_reported {
                cache.shared_by = online(cache.shared_by);
                return cache;
            }
            if own.id.is_some() {
                let is_it = |other: &DescribedCache| {
                    (other.id, other.cache.level, other.cache.holds)
                        == (own.id, cache.level, cache.holds)
                };
                cache.shared_by = like(&|other| other.caches.iter().any(is_it));
                return cache;
            }
            let (shared_by, who) = match (cache.level, self.package) {
                (..=2, _) => (
                    siblings.clone().unwrap_or_else(|| [number].into()),
                    "its own core alone",
                ),
                (_, None) => (like(&|_| true), "all CPUs"),
                (_, package) => (
                    like(&|other| other.package == package),
                    "the CPUs of its package",
                ),
            };
            cache.shared_by = shared_by;
            let folder = cache.folder.display();
            let assumed =
                format!("{folder}: no CPU in shared_cpu_list: shared by {who} is assumed");
            cache.assumed.push(assumed);
            cache
        };
        let caches = self.caches.iter().map(shared).collect();
        Cpu {
            siblings,
            node: self.node,
            caches,
        }
    }
}

impl DescribedCache {
    /// Reads a cache; one without a reported level is omitted.
    fn read(folder: &Path) -> Option<DescribedCache> {
        let level = number(&folder.join("level")).ok()?;
        let holds = match text(&folder.join("type")).as_deref() {
            Some("Data") => Holds::Data,
            Some("Instruction") => Holds::Instructions,
            _ => Holds::All,
        };
        let [ways, sets, line_bytes] = [
            "ways_of_associativity",
            "number_of_sets",
            "coherency_line_size",
        ]
        .map(|file| number(&folder.join(file)));
        let mut assumed = Vec::new();
        let product = [&ways, &sets, &line_bytes]
            .into_iter()
            .try_fold(1u64, |product, number| {
                product.checked_mul(*number.as_ref().ok()?)
            });
        let size_bytes = size(&folder.join("size"), level, product, &mut assumed);
        let shared = set(folder, ["shared_cpu"]);
        Some(DescribedCache {
            id: number(&folder.join("id")).ok(),
            is_sharing_reported: shared.is_some(),
            cache: Cache {
                folder: folder.into(),
                level,
                holds,
                size_bytes,
                ways,
                sets,
                line_bytes,
                shared_by: shared.unwrap_or_default(),
                assumed,
            },
        })
    }
}

/// Returns the first of these sets that is reported, as `NAME_list`, `NAME` or `NAME_map`. An empty
/// set counts as not reported.
fn set<const N: usize>(folder: &Path, names: [&str; N]) -> Option<CpuNumbers> {
    let of_name = |name: &str| {
        let list =
            text(&folder.join(format!("{name}_list"))).and_then(|text| notation::list(&text));
        let mask = |suffix: &str| {
            let text = text(&folder.join(format!("{name}{suffix}")))?;
            notation::mask(&text)
        };
        let is_set = |cpus: &CpuNumbers| !cpus.is_empty();
        list.filter(is_set)
            .or_else(|| mask("").filter(is_set))
            .or_else(|| mask("_map").filter(is_set))
    };
    names.into_iter().find_map(of_name)
}

fn unknown(path: &Path, problem: impl Into<String>) -> Unknown {
    Unknown {
        path: path.into(),
        problem: problem.into(),
    }
}

/// Returns the contents of a file, without surrounding whitespace.
fn contents(path: &Path) -> Result<String, Unknown> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(unknown(path, "this file is missing"))
        }
        Err(error) => Err(unknown(path, error.to_string())),
    }
}

fn number(path: &Path) -> Reading {
    let text = contents(path)?;
    let is_none = || unknown(path, format!("'{text}' is not a number"));
    notation::decimal(&text).ok_or_else(is_none)
}

/// The smallest number without a unit that is in bytes, by level. No such cache is smaller in
/// bytes, or as large in KiB.
const BYTES_AT_LEAST: [u64; 3] = [1 << 10, 1 << 16, 1 << 19];

/// Reads a size. `product` is the size from ways, sets and lines. For a size without a unit, it
/// determines the unit; if it is missing, the cache's level does.
fn size(path: &Path, level: u64, product: Option<u64>, assumed: &mut Vec<String>) -> Reading {
    let text = contents(path)?;
    let number = match notation::size(&text) {
        Some(Size::Bytes(bytes)) => return Ok(bytes),
        Some(Size::WithoutUnit(0)) => return Ok(0),
        Some(Size::WithoutUnit(number)) => number,
        None => {
            let problem = format!("'{text}' is not a size such as 48K");
            return Err(unknown(path, problem));
        }
    };
    let kibibytes = number.saturating_mul(1024);
    let least = BYTES_AT_LEAST[(level.clamp(1, 3) - 1) as usize];
    let is_bytes = match product {
        Some(product) if product == number || product == kibibytes => product == number,
        _ => number >= least,
    };
    let (bytes, unit) = match is_bytes {
        true => (number, "bytes"),
        false => (kibibytes, "KiB"),
    };
    let path = path.display();
    assumed.push(format!("{path}: '{text}' has no unit: {unit} are assumed"));
    Ok(bytes)
}
