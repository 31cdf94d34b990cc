//! Names of memory: variables, stacks, the heap, mappings, and anonymous regions.
//!
//! Names are assigned after the replay. A stack is where a thread pushed return addresses, and the
//! heap begins behind the program's variables.

use crate::collector::DataPiece;
use crate::cost::Cost;
use crate::pieces::{Images, Piece};
use corehop_traces::{Owner, PAGE_SHIFT, ThreadId, Trace};
use std::collections::BTreeMap;
use std::path::Path;

/// The Linux number of `brk`.
const BRK: i32 = 12;

/// Maximum gap of unaccessed pages within one stack: 256 KiB.
const STACK_GAP: u64 = 64;

/// Maximum gap of unaccessed pages within one region of memory: 1 MiB.
const REGION_GAP: u64 = 256;

/// The name of a piece.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DataName {
    /// A variable of a module.
    Global { module: usize, name: String },
    /// A member of a variable of a module.
    Member { module: usize, name: String },
    /// The part of a module's section that no symbol covers.
    Section { module: usize, name: String },
    /// A thread's stack.
    Stack(ThreadId),
    /// The region that `brk` extends.
    Heap,
    /// Objects on the heap, by the number of the place that made them.
    Object(u32),
    /// Objects on the heap that have ended.
    Freed,
    /// Memory that processes share, by its number.
    Mapping(u32),
    /// The kernel's memory.
    Kernel,
    /// Anonymous memory: the pages from the first to the second, exclusive.
    Anonymous(u64, u64),
}

/// Names of all pieces, after the replay has shown where stacks and regions are.
pub(crate) struct Names<'a> {
    trace: &'a Trace,
    images: &'a Images,
    regions: Regions,
}

impl<'a> Names<'a> {
    /// Names these pieces, some of which are pages.
    pub fn of(trace: &'a Trace, images: &'a Images, pieces: &[(DataPiece, Cost)]) -> Names<'a> {
        Names {
            trace,
            images,
            regions: Regions::of(trace, images, pieces),
        }
    }

    /// Returns the name of the member that a piece is, or else of the object.
    pub fn member_name(&self, piece: Piece) -> DataName {
        match piece {
            Piece::Member(image, symbol, member) => {
                let (module, name) = self.images.member((image, symbol), member);
                DataName::Member { module, name }
            }
            piece => self.name(piece),
        }
    }

    /// Returns the name of the object that one of them is or belongs to.
    pub fn name(&self, piece: Piece) -> DataName {
        match piece {
            Piece::Symbol(image, symbol) | Piece::Member(image, symbol, _) => {
                let (module, name) = self.images.symbol(image, symbol);
                let name = name.to_owned();
                DataName::Global { module, name }
            }
            Piece::Section(image, section) => {
                let (module, name) = self.images.section(image, section);
                let name = name.to_owned();
                DataName::Section { module, name }
            }
            Piece::Image(image) => DataName::Section {
                module: self.images.module(image),
                name: "between sections".into(),
            },
            Piece::Kernel => DataName::Kernel,
            Piece::Object(site) => DataName::Object(site),
            Piece::Freed => DataName::Freed,
            Piece::Page(page) => self.regions.name(self.trace, page),
        }
    }

    /// Returns the cost of variables that DWARF does not describe.
    pub fn without_types(&self, pieces: &[(DataPiece, Cost)]) -> Cost {
        let without = pieces
            .iter()
            .filter(|(of, _)| self.images.lacks_type(of.piece));
        without.map(|(_, cost)| *cost).sum()
    }

    /// Returns the costs of the pieces by name of their objects, or of the members.
    pub fn named(
        &self,
        pieces: &[(DataPiece, Cost)],
        with_members: bool,
    ) -> BTreeMap<DataName, Cost> {
        let mut named = BTreeMap::<DataName, Cost>::new();
        for (of, cost) in pieces {
            if *cost != Cost::default() {
                let name = match with_members {
                    true => self.member_name(of.piece),
                    false => self.name(of.piece),
                };
                *named.entry(name).or_default() += *cost;
            }
        }
        named
    }
}

/// Start of the heap, and its end if the trace has a call that extended it.
fn heap(trace: &Trace, images: &Images) -> Option<(u64, Option<u64>)> {
    let threads = (0..trace.threads().len()).map(ThreadId::from_index);
    let calls = threads.flat_map(|thread| trace.system_calls(thread));
    let breaks = calls.filter(|call| call.number == BRK);
    let breaks = breaks.filter_map(|call| u64::try_from(call.result?).ok());
    let end = breaks.max();
    let command = trace.header().command.first()?;
    let program = Path::new(command).canonicalize().ok();
    let file = Path::new(command).file_name()?;
    let is_program = |module: usize| {
        let path = Path::new(&trace.modules()[module].path);
        Some(path) == program.as_deref() || path.file_name() == Some(file)
    };
    let mut images = images.ends();
    let (_, start) = match end {
        Some(end) => images.rfind(|&(_, start)| start <= end),
        None => images.find(|&(module, _)| is_program(module)),
    }?;
    Some((start, end))
}

/// Names of the pages outside all images.
struct Regions {
    /// By first page, the end and the name.
    all: BTreeMap<u64, (u64, DataName)>,
}

impl Regions {
    fn of(trace: &Trace, images: &Images, pieces: &[(DataPiece, Cost)]) -> Regions {
        let page = |of: &DataPiece| match of.piece {
            Piece::Page(page) => Some((page, of.stack_of)),
            _ => None,
        };
        let pages: BTreeMap<u64, Option<ThreadId>> =
            pieces.iter().filter_map(|(of, _)| page(of)).collect();
        let mut regions = Regions {
            all: BTreeMap::new(),
        };
        let stacks = pages
            .iter()
            .filter_map(|(&page, thread)| Some((page, (*thread)?)));
        for (page, thread) in stacks {
            regions.extend(page, &DataName::Stack(thread), STACK_GAP);
        }
        let heap = heap(trace, images);
        let mut heap_end = heap.map(|(start, _)| start >> PAGE_SHIFT);
        for &page in pages.keys() {
            if regions.find(page).is_some() {
                continue;
            }
            let (owner, address) = trace.owner(page << PAGE_SHIFT);
            let known_end = heap.and_then(|(_, end)| end);
            let is_heap = heap.is_some_and(|(start, _)| address >= start)
                && match (known_end, heap_end) {
                    (Some(end), _) => address < end,
                    (None, Some(end)) => address >> PAGE_SHIFT < end + REGION_GAP,
                    (None, None) => false,
                };
            match owner {
                Owner::Object(object) => {
                    let name = DataName::Mapping(object);
                    regions.all.insert(page, (page + 1, name));
                }
                _ if is_heap => {
                    heap_end = heap_end.max(Some((address >> PAGE_SHIFT) + 1));
                    regions.all.insert(page, (page + 1, DataName::Heap));
                }
                _ => regions.extend(page, &DataName::Anonymous(0, 0), REGION_GAP),
            }
        }
        regions
    }

    /// Adds a page to the region of this kind that ends shortly below it, or adds a new region.
    fn extend(&mut self, page: u64, kind: &DataName, gap: u64) {
        let below = self.all.range_mut(..=page).next_back();
        if let Some((_, (end, name))) = below
            && name == kind
            && page < *end + gap
        {
            *end = page + 1;
            return;
        }
        self.all.insert(page, (page + 1, kind.clone()));
    }

    fn find(&self, page: u64) -> Option<(u64, u64, &DataName)> {
        let (&start, (end, name)) = self.all.range(..=page).next_back()?;
        (page < *end).then_some((start, *end, name))
    }

    fn name(&self, trace: &Trace, page: u64) -> DataName {
        let (start, end) = match self.find(page) {
            Some((start, end, DataName::Anonymous(..))) => (start, end),
            Some((_, _, name)) => return name.clone(),
            None => (page, page + 1),
        };
        let address = |page: u64| trace.owner(page << PAGE_SHIFT).1;
        DataName::Anonymous(address(start), address(end - 1) + (1 << PAGE_SHIFT))
    }
}
