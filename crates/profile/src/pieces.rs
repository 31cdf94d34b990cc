//! The layout of memory: variables and sections of binaries, and pages of everything else.
//!
//! A trace has the addresses of each binary's code. The binary itself, if it is at its path and
//! still the recorded build, has the addresses of its variables. Memory outside all binaries is
//! counted by page.

use corehop_symbolizer::{DataLayout, DataSymbol, Section, SourceLines, VariableType};
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{PAGE_SHIFT, Trace};
use std::collections::HashMap;
use std::path::Path;

/// A part of memory whose accesses are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// A variable: the image, and its symbol.
    Symbol(usize, usize),
    /// A member of a variable: the image, the symbol, and the member.
    Member(usize, usize, usize),
    /// The part of a section that no symbol covers.
    Section(usize, usize),
    /// Memory between sections.
    Image(usize),
    /// A page outside all images, by its number with that of its memory.
    Page(u64),
    /// The kernel's half of addresses.
    Kernel,
    /// An object on the heap, by the number of the place that made it.
    Object(u32),
    /// A part of an object on the heap that has ended.
    Freed,
}

/// The pieces that a line belongs to.
pub(crate) enum LinePiece {
    /// One piece.
    Whole(Piece),
    /// Several; the address selects one.
    Several,
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

/// Returns the innermost range that holds the address.
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
    /// By symbol; `None` without DWARF, or if members are not requested.
    types: Option<Vec<VariableType>>,
}

/// The binaries of a trace whose variables are known.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// By ascending start; none overlaps another.
    all: Vec<Image>,
}

impl Images {
    /// Finds the binaries whose files are at their paths and are the recorded builds; with members
    /// of their variables if requested.
    pub fn of(trace: &Trace, sources: &mut SourceLines, with_members: bool) -> Images {
        let mut read = HashMap::new();
        let mut images = Images::default();
        for (module, of) in trace.modules().iter().enumerate() {
            let key = (of.path.as_str(), of.build_id.as_str());
            let layout = read.entry(key).or_insert_with(|| {
                let path = Path::new(&of.path);
                let layout = sources.data(path, &of.build_id)?;
                let types = with_members.then(|| sources.members(path, &of.build_id, &layout));
                Some((layout, types.flatten()))
            });
            if let Some((layout, types)) = layout {
                images.add(module, of.load_bias, layout, types.as_deref());
            }
        }
        images
    }

    fn add(
        &mut self,
        module: usize,
        load_bias: u64,
        layout: &DataLayout,
        types: Option<&[VariableType]>,
    ) {
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
            types: types.map(<[_]>::to_vec),
        };
        self.all.insert(place, image);
    }

    fn image(&self, address: u64) -> Option<usize> {
        let after = self.all.partition_point(|image| image.start <= address);
        let image = after.checked_sub(1)?;
        (address < self.all[image].end).then_some(image)
    }

    /// Returns the piece at a virtual address: of an image, or else of a page.
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

    /// Returns the piece at an address of a trace, which includes the number of its memory.
    pub fn piece_at(&self, trace: &Trace, located: u64) -> Piece {
        if located >> 63 == 1 {
            return Piece::Kernel;
        }
        match self.piece(trace.owner(located).1) {
            Piece::Page(_) => Piece::Page(located >> PAGE_SHIFT),
            piece => piece,
        }
    }

    /// Returns the same, and of a variable with members the member.
    pub fn part_at(&self, trace: &Trace, located: u64) -> Piece {
        let piece = self.piece_at(trace, located);
        self.part(piece, trace.owner(located).1)
    }

    /// Returns the member at an address of a piece, or the piece if it has none.
    fn part(&self, piece: Piece, address: u64) -> Piece {
        match piece {
            Piece::Symbol(image, symbol) => match self.variable_type(image, symbol) {
                Some(VariableType::Members(members)) => {
                    let start = self.all[image].symbols[symbol].start;
                    Piece::Member(image, symbol, members.at(address.wrapping_sub(start)))
                }
                _ => piece,
            },
            piece => piece,
        }
    }

    fn variable_type(&self, image: usize, symbol: usize) -> Option<&VariableType> {
        self.all[image].types.as_ref()?.get(symbol)
    }

    /// Returns whether a piece is a variable that DWARF does not describe.
    pub fn lacks_type(&self, piece: Piece) -> bool {
        match piece {
            Piece::Symbol(image, symbol) => {
                let of = self.variable_type(image, symbol);
                of.is_none_or(|of| *of == VariableType::Unknown)
            }
            _ => false,
        }
    }

    /// Returns the module of a variable's member, and the name of both.
    pub fn member(&self, (image, symbol): (usize, usize), member: usize) -> (usize, String) {
        let (module, variable) = self.symbol(image, symbol);
        let name = match self.variable_type(image, symbol) {
            Some(VariableType::Members(members)) => members.name(member),
            _ => "",
        };
        (module, format!("{variable}{name}"))
    }

    /// Returns the start of a variable or a section; `None` for other pieces.
    pub fn start(&self, piece: Piece) -> Option<u64> {
        match piece {
            Piece::Symbol(image, symbol) | Piece::Member(image, symbol, _) => {
                Some(self.all[image].symbols[symbol].start)
            }
            Piece::Section(image, section) => Some(self.all[image].sections[section].start),
            Piece::Image(_) | Piece::Page(_) | Piece::Kernel | Piece::Object(_) | Piece::Freed => {
                None
            }
        }
    }

    /// Returns the parts that a line belongs to, by its number.
    pub fn of_line(&self, trace: &Trace, line: u64) -> LinePiece {
        let first = line << LINE_SHIFT;
        let piece = self.part_at(trace, first);
        let address = trace.owner(first).1;
        let part = |address: u64| self.part(self.piece(address), address);
        let is_whole = matches!(piece, Piece::Kernel | Piece::Page(_))
            || (1..1 << LINE_SHIFT).all(|byte| part(address + byte) == piece);
        match is_whole {
            true => LinePiece::Whole(piece),
            false => LinePiece::Several,
        }
    }

    /// Returns the module of an image's variable, and the variable's name.
    pub fn symbol(&self, image: usize, symbol: usize) -> (usize, &str) {
        let image = &self.all[image];
        (image.module, &image.layout.symbols[symbol].name)
    }

    /// Returns the module of an image's section, and the section's name.
    pub fn section(&self, image: usize, section: usize) -> (usize, &str) {
        let image = &self.all[image];
        (image.module, &image.layout.sections[section].name)
    }

    /// Returns the module of an image.
    pub fn module(&self, image: usize) -> usize {
        self.all[image].module
    }

    /// Returns all variables: the module, the name, the first address, and the one behind it.
    pub fn symbols(&self) -> impl Iterator<Item = (usize, &str, u64, u64)> {
        self.all.iter().flat_map(|image| {
            let all = image.symbols.iter().zip(&image.layout.symbols);
            all.map(|(range, symbol)| {
                let name = symbol.name.as_str();
                (image.module, name, range.start, range.end)
            })
        })
    }

    /// Returns the module and the end of each image, by ascending address.
    pub fn ends(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> {
        self.all.iter().map(|image| (image.module, image.end))
    }
}
