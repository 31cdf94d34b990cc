//! The limit or rule that makes a machine description impossible to simulate.

use super::description::{CORES_MAXIMUM, LINE_SIZE_BYTES};

/// Largest simulated cache: its tags use a tenth of its size in host memory.
pub(super) const SIZE_BYTES_MAXIMUM: u64 = 8 << 30;

/// Maximum number of ways of a cache: the way of a line is stored in seven bits, and four values
/// encode why the cache does not hold it.
pub(super) const WAYS_MAXIMUM: u32 = 124;

/// Maximum number of ways for a tree of bits in one word.
pub(super) const PLRU_WAYS_MAXIMUM: u32 = 64;

/// Maximum number of instructions per cycle.
pub(super) const INSTRUCTIONS_MAXIMUM: u32 = 64;

/// Maximum number of instructions in a reorder window, and of stores in a store buffer.
pub(super) const WINDOW_MAXIMUM: u32 = 1 << 16;

/// Maximum number of entries of a TLB or a page-walk cache.
pub(super) const ENTRIES_MAXIMUM: u32 = 1 << 20;

/// Maximum number of entries in a set of one of these, which is searched linearly.
pub(super) const ENTRY_WAYS_MAXIMUM: u32 = 1024;

/// The rule that a machine breaks, the level that breaks it, and the remedy. `name` is the level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages document the fields.
#[non_exhaustive]
pub enum ImpossibleMachine {
    /// A line size other than that of traces.
    #[error(
        "line_size_bytes = {line_size_bytes}: traces are recorded and counted in lines of \
         {line_bytes} bytes only",
        line_bytes = LINE_SIZE_BYTES
    )]
    LineSize { line_size_bytes: u64 },
    /// No cores, or more than can be simulated.
    #[error(
        "cores = {cores}: give the machine 1 to {cores_maximum}",
        cores_maximum = CORES_MAXIMUM
    )]
    Cores { cores: u32 },
    /// A number of sets that address bits cannot index.
    #[error(
        "{name}: {size_bytes} bytes in {ways} ways of {line_bytes} bytes make {sets} sets, \
         which is no power of two: change size_bytes or ways",
        line_bytes = LINE_SIZE_BYTES
    )]
    Sets {
        name: &'static str,
        size_bytes: u64,
        ways: u32,
        sets: u64,
    },
    /// Points that do not rise.
    #[error(
        "idle_hops: idle_cycles = {idle_cycles} comes after {before}: give them in rising order, \
         the first above 0"
    )]
    IdleHops { idle_cycles: u64, before: u64 },
    /// An instruction rate that is zero or too large.
    #[error(
        "core: instructions_per_cycle: give it 0.001 to {instructions_maximum}",
        instructions_maximum = INSTRUCTIONS_MAXIMUM
    )]
    InstructionsPerCycle,
    /// A window or buffer of size zero, or too large.
    #[error(
        "core: {field} = {value}: give it 1 to {window_maximum}",
        window_maximum = WINDOW_MAXIMUM
    )]
    Window { field: &'static str, value: u32 },
    /// A cache without lines.
    #[error("{name}: size_bytes = {size_bytes}, ways = {ways}: a cache has at least one line")]
    Empty {
        name: &'static str,
        size_bytes: u64,
        ways: u32,
    },
    /// Ways with a fractional number of lines.
    #[error(
        "{name}: {size_bytes} bytes do not divide into {ways} ways of {line_bytes}-byte \
         lines: change size_bytes or ways",
        line_bytes = LINE_SIZE_BYTES
    )]
    Ways {
        name: &'static str,
        size_bytes: u64,
        ways: u32,
    },
    /// A cache too large to simulate.
    #[error(
        "{name}: {size_bytes} bytes: more than {size_bytes_maximum} cannot be simulated",
        size_bytes_maximum = SIZE_BYTES_MAXIMUM
    )]
    TooLarge { name: &'static str, size_bytes: u64 },
    /// More ways than can be simulated.
    #[error(
        "{name}: ways = {ways}: more than {ways_maximum} cannot be simulated",
        ways_maximum = WAYS_MAXIMUM
    )]
    TooManyWays { name: &'static str, ways: u32 },
    /// A number of ways that does not fill a tree.
    #[error(
        "{name}: policy = \"plru\", ways = {ways}: its tree needs a power of two of ways, at most \
         {plru_ways_maximum}: change ways or policy",
        plru_ways_maximum = PLRU_WAYS_MAXIMUM
    )]
    Plru { name: &'static str, ways: u32 },
    /// An inclusion on a first-level cache.
    #[error("{name}: inclusion applies to l2 and l3 only")]
    InclusionOfL1 { name: &'static str },
    /// An L2 that excludes the L1s.
    #[error(
        "l2: inclusion = \"exclusive\" is simulated for l3 only: choose \"inclusive\" or \
         \"non-inclusive\""
    )]
    ExclusiveL2,
    /// An inclusive level that is smaller than what it must contain.
    #[error(
        "{outer}: {outer_size} bytes are fewer than the {inner_size} of {inner}, which an \
         inclusive {outer} must hold: make it larger"
    )]
    TooSmallToInclude {
        outer: &'static str,
        outer_size: u64,
        inner: &'static str,
        inner_size: u64,
    },
    /// An L3 shared by only some cores.
    #[error("l3: shared_by applies to the other levels only: all cores share l3")]
    SharingOfL3,
    /// A sharing that does not divide the cores of the next outer group.
    #[error(
        "{name}: shared_by = {shared_by} does not divide {outer}, which is {cores}: change either"
    )]
    SharedBy {
        name: &'static str,
        shared_by: u32,
        outer: &'static str,
        cores: u32,
    },
    /// Groups of cores that do not consist of whole L2s, or do not divide the machine.
    #[error(
        "topology: {key} = {size}: it must divide the machine's cores, and l2's shared_by must \
         divide it"
    )]
    Group { key: &'static str, size: u32 },
    /// Groups that overlap without nesting.
    #[error(
        "topology: cores_per_l3 = {l3} and cores_per_node = {node}: one of them must divide the \
         other"
    )]
    Groups { l3: u32, node: u32 },
    /// One L3 on a machine whose topology has several.
    #[error(
        "topology: cores_per_l3 says that there are several L3s, and l3 is simulated as one that \
         all cores share: leave l3 out, or give the machine the cores of one L3"
    )]
    SeveralL3s,
    /// Distances that are not a square matrix over the nodes.
    #[error(
        "topology: node_distances: give {nodes} rows of {nodes} numbers, as cores_per_node makes \
         so many nodes: 10 from a node to itself, 10 to 254 to others"
    )]
    NodeDistances { nodes: usize },
    /// A TLB of an unknown level.
    #[error("translation: tlb: level = {level}: TLBs have level 1 or 2")]
    TlbLevel { level: u32 },
    /// A TLB without page sizes.
    #[error(
        "translation: tlb of level {level}: page_sizes is empty: give it \"4K\", \"2M\" or \"1G\""
    )]
    TlbOfNoPages { level: u32 },
    /// Two TLBs for the same pages.
    #[error(
        "translation: two TLBs of level {level} hold pages of {size} for the same accesses: give \
         them different page_sizes, or one `of = \"fetches\"` and the other `of = \"data\"`"
    )]
    TwoTlbs { level: u32, size: &'static str },
    /// No TLB for small pages, which every program uses.
    #[error("translation: no TLB of level 1 holds pages of 4K for {of}: add one")]
    NoTlb { of: &'static str },
    /// A page-walk cache of an unknown level, or two of one level.
    #[error(
        "translation: walk_cache: level = {level}: give one cache at most for each of the levels \
         2, 3 and 4"
    )]
    WalkCacheLevel { level: u32 },
    /// A TLB or page-walk cache that has no entries, too many, or fractional sets.
    #[error(
        "translation: {name} of level {level}: entries = {entries}, ways = {ways}: give it 1 to \
         {entries_maximum} entries, and at most {ways_maximum} ways that divide them",
        entries_maximum = ENTRIES_MAXIMUM,
        ways_maximum = ENTRY_WAYS_MAXIMUM
    )]
    Entries {
        name: &'static str,
        level: u32,
        entries: u32,
        ways: u32,
    },
}
