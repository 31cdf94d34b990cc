//! What lies where in memory: variables and sections of binaries, and pages of everything else.
//!
//! A trace knows where the code of a binary lies. The binary itself, if it is here and still the
//! build that was recorded, says where its variables are. Whatever lies outside all binaries is
//! counted by page, and named after the replay: a stack is where a thread pushed return addresses, and
//! the heap begins behind the program's variables.

use crate::collector::{Counted, DataPiece};
use crate::cost::Cost;
use corehop_symbolizer::{DataLayout, DataSymbol, Section, SourceLines};
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Owner, PAGE_SHIFT, ThreadId, Trace};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The Linux number of `brk`.
const BRK: i32 = 12;

/// Pages without an access that may lie within one stack: 256 KiB.
const STACK_GAP: u64 = 64;

/// Pages without an access that may lie within one region of memory: 1 MiB.
const REGION_GAP: u64 = 256;

/// A part of memory that is counted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// A variable: of which image, and which of its symbols.
    Symbol(usize, usize),
    /// What no symbol covers of a section.
    Section(usize, usize),
    /// What lies between sections.
    Image(usize),
    /// A page outside all images, by its number with that of its memory.
    Page(u64),
    /// The kernel's half of addresses.
    Kernel,
}

/// Which pieces a line belongs to.
pub(crate) enum LinePiece {
    /// To this one alone.
    Whole(Piece),
    /// To several; each address tells which.
    Several,
}

/// What a piece is called, for people and for programs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DataName {
    /// A variable of a module.
    Global { module: usize, name: String },
    /// What no symbol covers of a module's section.
    Section { module: usize, name: String },
    /// A thread's stack.
    Stack(ThreadId),
    /// The region that `brk` extends.
    Heap,
    /// What processes share, by its number.
    Mapping(u32),
    /// The kernel's memory.
    Kernel,
    /// Memory of which nothing is known: the pages from the one to the other, exclusive.
    Anonymous(u64, u64),
}

/// Something with a range of guest addresses.
#[derive(Debug)]
struct Range {
    start: u64,
    end: u64,
    /// The innermost range around it.
    around: Option<usize>,
}

/// Ranges by ascending start, outer ones first.
fn nested(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<Range> {
    let mut all: Vec<Range> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (start, end) in ranges {
        while open.last().is_some_and(|&outer| all[outer].end <= start) {
            open.pop();
        }
        let around = open.last().copied();
        open.push(all.len());
        all.push(Range { start, end, around });
    }
    all
}

/// The innermost range that holds the address.
fn innermost(ranges: &[Range], address: u64) -> Option<usize> {
    let after = ranges.partition_point(|range| range.start <= address);
    let mut nearest = after.checked_sub(1);
    while let Some(index) = nearest {
        if address < ranges[index].end {
            return Some(index);
        }
        nearest = ranges[index].around;
    }
    None
}

/// A binary in memory.
#[derive(Debug)]
struct Image {
    module: usize,
    start: u64,
    end: u64,
    symbols: Vec<Range>,
    sections: Vec<Range>,
    layout: DataLayout,
}

/// The binaries of a trace whose variables are known.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// By ascending start; none overlaps another.
    all: Vec<Image>,
}

impl Images {
    /// Those whose files are here, and the builds that were recorded.
    pub fn of(trace: &Trace, sources: &mut SourceLines) -> Images {
        let mut read = HashMap::new();
        let mut images = Images::default();
        for (module, of) in trace.modules().iter().enumerate() {
            let key = (of.path.as_str(), of.build_id.as_str());
            let layout = read
                .entry(key)
                .or_insert_with(|| sources.data(Path::new(&of.path), &of.build_id));
            if let Some(layout) = layout {
                images.add(module, of.load_bias, layout);
            }
        }
        images
    }

    fn add(&mut self, module: usize, load_bias: u64, layout: &DataLayout) {
        let guest = |offset: u64| load_bias.wrapping_add(offset);
        let page = |address: u64| address >> PAGE_SHIFT << PAGE_SHIFT;
        let (start, end) = (page(guest(layout.start)), guest(layout.end));
        let end = page(end.saturating_add((1 << PAGE_SHIFT) - 1));
        let place = self.all.partition_point(|image| image.start < start);
        let is_free = self.all.get(place).is_none_or(|next| end <= next.start)
            && place
                .checked_sub(1)
                .is_none_or(|before| self.all[before].end <= start);
        if start >= end || !is_free {
            return;
        }
        let range = |offset: u64, size: u64| (guest(offset), guest(offset).saturating_add(size));
        let of_symbol = |symbol: &DataSymbol| range(symbol.offset, symbol.size_bytes);
        let of_section = |section: &Section| range(section.offset, section.size_bytes);
        let image = Image {
            module,
            start,
            end,
            symbols: nested(layout.symbols.iter().map(of_symbol)),
            sections: nested(layout.sections.iter().map(of_section)),
            layout: layout.clone(),
        };
        self.all.insert(place, image);
    }

    fn image(&self, address: u64) -> Option<usize> {
        let after = self.all.partition_point(|image| image.start <= address);
        let image = after.checked_sub(1)?;
        (address < self.all[image].end).then_some(image)
    }

    /// The piece at a virtual address in an image; a page's for one elsewhere.
    pub fn piece(&self, address: u64) -> Piece {
        let Some(image) = self.image(address) else {
            return Piece::Page(address >> PAGE_SHIFT);
        };
        let Image {
            symbols, sections, ..
        } = &self.all[image];
        let symbol = innermost(symbols, address).map(|symbol| Piece::Symbol(image, symbol));
        let section = || innermost(sections, address).map(|of| Piece::Section(image, of));
        symbol.or_else(section).unwrap_or(Piece::Image(image))
    }

    /// The pieces that a line belongs to, by its number.
    pub fn of_line(&self, trace: &Trace, line: u64) -> LinePiece {
        let first = line << LINE_SHIFT;
        if first >> 63 == 1 {
            return LinePiece::Whole(Piece::Kernel);
        }
        let (_, address) = trace.owner(first);
        if self.image(address).is_none() {
            return LinePiece::Whole(Piece::Page(first >> PAGE_SHIFT));
        }
        let piece = self.piece(address);
        let is_whole = (1..1 << LINE_SHIFT).all(|byte| self.piece(address + byte) == piece);
        match is_whole {
            true => LinePiece::Whole(piece),
            false => LinePiece::Several,
        }
    }

    /// Pieces by what they are called, with what each cost.
    pub fn named(&self, trace: &Trace, counted: &Counted) -> BTreeMap<DataName, Cost> {
        let regions = Regions::of(trace, self, &counted.pieces);
        let mut named = BTreeMap::<DataName, Cost>::new();
        for (of, cost) in &counted.pieces {
            if *cost == Cost::default() {
                continue;
            }
            let name = match of.piece {
                Piece::Symbol(image, symbol) => DataName::Global {
                    module: self.all[image].module,
                    name: self.all[image].layout.symbols[symbol].name.clone(),
                },
                Piece::Section(image, section) => DataName::Section {
                    module: self.all[image].module,
                    name: self.all[image].layout.sections[section].name.clone(),
                },
                Piece::Image(image) => DataName::Section {
                    module: self.all[image].module,
                    name: "between sections".into(),
                },
                Piece::Kernel => DataName::Kernel,
                Piece::Page(page) => regions.name(trace, page),
            };
            *named.entry(name).or_default() += *cost;
        }
        named
    }

    /// Where the heap begins, and where it ends if the trace has a call that extended it.
    fn heap(&self, trace: &Trace) -> Option<(u64, Option<u64>)> {
        let threads = (0..trace.threads().len()).map(ThreadId::from_index);
        let calls = threads.flat_map(|thread| trace.system_calls(thread));
        let breaks = calls.filter(|call| call.number == BRK);
        let breaks = breaks.filter_map(|call| u64::try_from(call.result?).ok());
        let end = breaks.max();
        let command = trace.header().command.first()?;
        let program = Path::new(command).canonicalize().ok();
        let file = Path::new(command).file_name()?;
        let is_program = |image: &&Image| {
            let path = Path::new(&trace.modules()[image.module].path);
            Some(path) == program.as_deref() || path.file_name() == Some(file)
        };
        let start = match end {
            Some(end) => self.all.iter().rfind(|image| image.end <= end),
            None => self.all.iter().find(is_program),
        };
        Some((start?.end, end))
    }
}

/// What the pages outside all images are.
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
        let heap = images.heap(trace);
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

    /// Adds a page to the region of this kind that ends not far below it, or a new region.
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
        match self.find(page) {
            None | Some((_, _, DataName::Anonymous(..))) => {
                let (start, end, _) = self.find(page).unwrap_or((page, page + 1, &DataName::Heap));
                let address = |page: u64| trace.owner(page << PAGE_SHIFT).1;
                DataName::Anonymous(address(start), address(end - 1) + (1 << PAGE_SHIFT))
            }
            Some((_, _, name)) => name.clone(),
        }
    }
}
