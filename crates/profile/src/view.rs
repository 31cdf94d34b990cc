//! Views: the same costs by function, by source line, and by object in memory.

use crate::code::{CodeFrame, CodeName, Lines, source_line};
use crate::collector::Counted;
use crate::cost::{Cost, Level};
use crate::heap::Made;
use crate::objects::{DataName, Names};
use corehop_simulator::Machine;
use corehop_simulator::detail::{Attribution, CodeOwner};
use corehop_traces::{Function, Kind, Trace};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What costs are attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Functions.
    Function,
    /// Source lines, with inlined functions.
    Line,
    /// Objects in memory: variables, stacks, the heap, mappings, code.
    Object,
    /// The same with the members of variables.
    Member,
}

impl By {
    /// Returns whether places are memory.
    #[must_use]
    pub fn is_memory(self) -> bool {
        matches!(self, By::Object | By::Member)
    }
}

/// What kind of place a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceKind {
    /// A function with a symbol.
    Function,
    /// A source line.
    Line,
    /// An instruction whose line is not known.
    Instruction,
    /// Code without a symbol, of a module or outside of all.
    Code,
    /// A variable.
    Global,
    /// A member of a variable.
    Member,
    /// The part of a section that no symbol covers.
    Section,
    /// A thread's stack.
    Stack,
    /// The heap that `brk` extends, outside of objects whose allocation the trace has.
    Heap,
    /// Objects on the heap that one call of an allocator made.
    Allocated,
    /// Memory of such objects after their end.
    Freed,
    /// Memory that processes share.
    Mapping,
    /// The kernel's memory.
    Kernel,
    /// The code of a module: what fetches access.
    Fetched,
    /// Anonymous memory.
    Anonymous,
}

/// The subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its kind.
    pub kind: PlaceKind,
    /// Its name.
    pub name: String,
    /// Path of the file that holds it; `None` where none is known.
    pub module: Option<String>,
    /// Functions of a source line, innermost first.
    pub frames: Vec<CodeFrame>,
    /// Whether a symbol, a source line, or the trace names it.
    pub is_named: bool,
}

impl Place {
    /// Returns the innermost source line that is known, and its file.
    #[must_use]
    pub fn source(&self) -> Option<(&str, u32)> {
        source_line(&self.frames)
    }
}

/// A place and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The place.
    pub place: Place,
    /// Its cost.
    pub cost: Cost,
    /// For objects on the heap: all that the place made.
    pub made: Option<Made>,
}

/// What rows are sorted by, largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Misses of a level.
    Misses(Level),
    /// Estimated cycles.
    Cycles,
    /// Page walks.
    Walks,
}

impl Order {
    /// Returns the figure of a cost that rows are sorted by.
    #[must_use]
    pub fn figure(self, cost: &Cost, machine: &Machine) -> u64 {
        match self {
            Order::Misses(level) => cost.misses(level),
            Order::Cycles => cost.cycles(machine),
            Order::Walks => cost.walks(),
        }
    }
}

/// All rows of one view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The kind of rows.
    pub by: By,
    /// The rows, in no particular order.
    pub rows: Vec<Row>,
    /// By member: the cost of variables that DWARF does not describe.
    pub without_types: Cost,
}

impl View {
    fn of(by: By, costs: BTreeMap<Place, Cost>) -> View {
        let rows = costs.into_iter().map(|(place, cost)| Row {
            place,
            cost,
            made: None,
        });
        View {
            by,
            rows: rows.collect(),
            without_types: Cost::default(),
        }
    }

    /// Returns the cost of places without a name.
    #[must_use]
    pub fn unnamed(&self) -> Cost {
        let unnamed = self.rows.iter().filter(|row| !row.place.is_named);
        unnamed.map(|row| row.cost).sum()
    }

    /// Returns the rows by descending cost; equal ones by name.
    #[must_use]
    pub fn sorted(&self, order: Order, machine: &Machine) -> Vec<&Row> {
        let mut rows: Vec<(u64, &Row)> = self
            .rows
            .iter()
            .map(|row| (order.figure(&row.cost, machine), row))
            .collect();
        rows.sort_by_key(|&(figure, row)| (Reverse(figure), &row.place));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// Returns whether the name of a function was made from its address, for lack of a symbol.
fn has_made_up_name(function: &Function) -> bool {
    function.symbol == format!("fn_{:x}", function.offset)
}

/// Returns the name of an owner's code.
pub(crate) fn owner_place(trace: &Trace, owner: CodeOwner) -> Place {
    let module = match owner {
        CodeOwner::Function(of) => Some(trace.functions()[of.index()].module),
        CodeOwner::Module(module) => Some(module),
        CodeOwner::Elsewhere => None,
    };
    let is_named = match owner {
        CodeOwner::Function(of) => !has_made_up_name(&trace.functions()[of.index()]),
        CodeOwner::Module(_) | CodeOwner::Elsewhere => false,
    };
    Place {
        kind: match owner {
            CodeOwner::Function(_) => PlaceKind::Function,
            CodeOwner::Module(_) | CodeOwner::Elsewhere => PlaceKind::Code,
        },
        name: owner.name(trace),
        module: module.map(|module| trace.modules()[module as usize].path.clone()),
        frames: Vec::new(),
        is_named,
    }
}

/// Adds a cost to those of a place.
fn add(costs: &mut BTreeMap<Place, Cost>, place: Place, cost: Cost) {
    *costs.entry(place).or_default() += cost;
}

/// Makes rows by function.
pub(crate) fn by_function(trace: &Trace, attribution: &Attribution, counted: &Counted) -> View {
    let mut of_owners = BTreeMap::<u32, Cost>::new();
    for (site, cost) in &counted.sites {
        *of_owners.entry(site.owner).or_default() += *cost;
    }
    let mut costs = BTreeMap::new();
    for (owner, cost) in of_owners {
        let place = owner_place(trace, attribution.owner(owner as usize));
        add(&mut costs, place, cost);
    }
    View::of(By::Function, costs)
}

/// Makes rows by source line.
pub(crate) fn by_line(
    trace: &Trace,
    attribution: &Attribution,
    counted: &Counted,
    lines: &mut Lines<'_>,
) -> View {
    let mut named = BTreeMap::<_, Cost>::new();
    for (site, cost) in &counted.sites {
        *named.entry(lines.name(site, attribution)).or_default() += *cost;
    }
    let mut costs = BTreeMap::new();
    for (code, cost) in named {
        add(&mut costs, code_place(trace, code), cost);
    }
    View::of(By::Line, costs)
}

/// Returns the place of the code with this name.
pub(crate) fn code_place(trace: &Trace, code: CodeName) -> Place {
    let has_line = !code.frames.is_empty();
    let innermost = source_line(&code.frames).map(|(file, line)| format!("{file}:{line}"));
    let module = code.module.map(|module| &trace.modules()[module].path);
    Place {
        kind: match has_line {
            true => PlaceKind::Line,
            false => PlaceKind::Instruction,
        },
        name: innermost.unwrap_or(code.place),
        module: module.cloned(),
        frames: code.frames,
        is_named: has_line,
    }
}

/// Makes rows by accessed object or by its members; for fetches, the code of a module. `sites` are
/// the places that made objects on the heap, by number.
pub(crate) fn by_memory(
    by: By,
    trace: &Trace,
    names: &Names<'_>,
    counted: &Counted,
    sites: &[(Place, Made)],
) -> View {
    let mut costs = BTreeMap::new();
    let fetches = counted
        .sites
        .iter()
        .filter(|(site, _)| site.kind == Kind::Fetch);
    for (site, cost) in fetches {
        add(&mut costs, fetched_place(trace, site.pc), *cost);
    }
    for (name, cost) in names.named(&counted.pieces, by == By::Member) {
        add(&mut costs, data_place(trace, name, sites), cost);
    }
    let made = made_by(sites);
    let mut view = View::of(by, costs);
    if by == By::Member {
        view.without_types = names.without_types(&counted.pieces);
    }
    for row in &mut view.rows {
        row.made = made.get(&row.place).copied();
    }
    view
}

/// Returns the place that a fetch at this address accesses: the code of a module.
pub(crate) fn fetched_place(trace: &Trace, pc: u64) -> Place {
    let mut modules = trace.modules().iter();
    let holds = modules.position(|module| module.holds(pc));
    let name = match holds {
        Some(_) => "code",
        None => "code outside all modules",
    };
    Place {
        is_named: holds.is_some(),
        ..memory_place(trace, PlaceKind::Fetched, name.into(), holds)
    }
}

/// Returns the place of the data with this name; `sites` are as for [`by_memory`].
pub(crate) fn data_place(trace: &Trace, name: DataName, sites: &[(Place, Made)]) -> Place {
    match name {
        DataName::Object(site) => sites[site as usize].0.clone(),
        DataName::Heap if !sites.is_empty() => Place {
            name: "heap outside objects".into(),
            ..object_place(trace, name)
        },
        name => object_place(trace, name),
    }
}

/// Returns what the sites of each place made.
pub(crate) fn made_by(sites: &[(Place, Made)]) -> BTreeMap<&Place, Made> {
    let mut made = BTreeMap::<&Place, Made>::new();
    for (place, more) in sites {
        *made.entry(place).or_default() += *more;
    }
    made
}

/// Returns a place in memory, of this module or of none.
fn memory_place(trace: &Trace, kind: PlaceKind, name: String, module: Option<usize>) -> Place {
    Place {
        kind,
        name,
        module: module.map(|module| trace.modules()[module].path.clone()),
        frames: Vec::new(),
        is_named: !matches!(
            kind,
            PlaceKind::Section | PlaceKind::Anonymous | PlaceKind::Heap | PlaceKind::Freed
        ),
    }
}

/// Returns the place of the memory with this name.
pub(crate) fn object_place(trace: &Trace, name: DataName) -> Place {
    let place = |kind, name, module| memory_place(trace, kind, name, module);
    match name {
        DataName::Global { module, name } => place(PlaceKind::Global, name, Some(module)),
        DataName::Member { module, name } => place(PlaceKind::Member, name, Some(module)),
        DataName::Section { module, name } => place(PlaceKind::Section, name, Some(module)),
        DataName::Stack(thread) => {
            let of = &trace.threads()[thread.index()];
            let name = format!("stack of thread {}", of.os_thread_id);
            place(PlaceKind::Stack, name, None)
        }
        DataName::Heap => place(PlaceKind::Heap, "heap".into(), None),
        DataName::Object(_) => place(PlaceKind::Allocated, "object".into(), None),
        DataName::Freed => place(PlaceKind::Freed, "freed memory".into(), None),
        DataName::Mapping(object) => {
            let name = trace.shared_objects()[object as usize].clone();
            place(PlaceKind::Mapping, name, None)
        }
        DataName::Kernel => place(PlaceKind::Kernel, "kernel memory".into(), None),
        DataName::Anonymous(start, end) => {
            let name = format!("anonymous {start:#x}-{end:#x}");
            place(PlaceKind::Anonymous, name, None)
        }
    }
}
