//! Access templates: a code block and the accesses of one execution of it, without data addresses.
//!
//! A code block nearly always makes the same loads and stores, so an execution is stored as the
//! number of a template and its data addresses. The schema calls a template a shape. A replay keeps
//! each template as a list of accesses without data addresses. It copies that list for each
//! execution and fills in the addresses.

use crate::model::dependence::check_dependences;
use crate::model::execution::{Access, Kind, LINE_SHIFT};
use crate::model::ids::FunctionId;
use crate::model::malformed::Malformed;
use crate::model::pointer::check_pointers;
use crate::model::program::CodeBlock;
use std::collections::HashMap;

/// Maximum number of instructions in a code block: the limit of QEMU's translator
/// (`TCG_MAX_INSNS`).
pub const MAX_INSTRUCTIONS: usize = 512;
/// Maximum number of data accesses of one execution; with its fetches, it stays below 65 536.
pub const MAX_DATA_ACCESSES: usize = 65_000;

/// Number of accesses of a template: data accesses and code fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Loads and stores.
    pub data: u16,
    /// Fetches.
    pub fetches: u16,
}

impl Size {
    /// Returns the number of all accesses.
    pub fn references(self) -> u32 {
        u32::from(self.data) + u32::from(self.fetches)
    }
}

/// One data access of a template, without its address. Packed as described in `schema/trace.capnp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct DataAccess(u32);

impl DataAccess {
    /// Packs an access; `None` for a fetch, for 0 bytes and for an instruction out of range.
    pub fn new(instruction: u16, kind: Kind, size_bytes: u16) -> Option<DataAccess> {
        if kind == Kind::Fetch || size_bytes == 0 || usize::from(instruction) >= MAX_INSTRUCTIONS {
            return None;
        }
        let store = u32::from(kind == Kind::Store);
        let packed = u32::from(instruction) << 17 | store << 16 | u32::from(size_bytes);
        Some(DataAccess(packed))
    }

    /// Returns the index of the instruction in its code block.
    pub fn instruction(self) -> usize {
        (self.0 >> 17) as usize
    }

    /// Returns whether it is a load or a store.
    pub fn kind(self) -> Kind {
        if self.0 >> 16 & 1 == 1 {
            Kind::Store
        } else {
            Kind::Load
        }
    }

    /// Returns the number of bytes.
    pub fn size_bytes(self) -> u16 {
        self.0 as u16
    }
}

/// Assigns numbers to a writer's templates.
#[derive(Default)]
pub struct Interner {
    /// The key is the code block's number followed by the data accesses.
    numbers: HashMap<Vec<u32>, u32>,
    latest_of_block: Vec<Option<Latest>>,
    key: Vec<u32>,
}

#[derive(Clone)]
struct Latest {
    number: u32,
    accesses: Vec<DataAccess>,
}

impl Interner {
    /// Returns the number of the template with these data accesses, and whether it is new.
    pub fn number(&mut self, code_block: u32, accesses: &[DataAccess]) -> (u32, bool) {
        let slot = code_block as usize;
        if slot >= self.latest_of_block.len() {
            self.latest_of_block.resize(slot + 1, None);
        }
        if let Some(latest) = &self.latest_of_block[slot]
            && latest.accesses == accesses
        {
            return (latest.number, false);
        }
        self.key.clear();
        self.key.push(code_block);
        self.key.extend_from_slice(bytemuck::cast_slice(accesses));
        let next = self.numbers.len() as u32;
        let (number, new) = match self.numbers.get(&self.key) {
            Some(&number) => (number, false),
            None => {
                self.numbers.insert(self.key.clone(), next);
                (next, true)
            }
        };
        let accesses = accesses.to_vec();
        self.latest_of_block[slot] = Some(Latest { number, accesses });
        (number, new)
    }
}

/// The templates of a trace, prepared for replay.
#[derive(Default)]
pub struct Templates {
    all: Vec<Template>,
    accesses: Vec<TemplateAccess>,
    holes: Vec<u16>,
    longest: usize,
}

/// The range of a template's accesses, and its other properties.
#[derive(Clone, Copy)]
pub struct Template {
    /// Its number in the trace.
    pub number: u32,
    start: u64,
    first_access: u32,
    access_count: u32,
    first_hole: u32,
    /// Number of data accesses.
    pub data_count: u32,
    /// The code block's number.
    pub code_block: u32,
    /// 1 + the number of the function that the code block enters, or 0.
    pub entry: u32,
}

/// An access of a template: small, because a replay reads all of them repeatedly.
#[derive(Clone, Copy)]
struct TemplateAccess {
    /// Offset of the instruction, or of the first byte fetched, from the start of the block.
    offset: u16,
    size_bytes: u16,
    kind: Kind,
}

impl TemplateAccess {
    /// Returns the access, in a block that starts at `start`; a data access has no data address
    /// yet.
    #[inline(always)]
    fn access(&self, start: u64) -> Access {
        let pc = start + u64::from(self.offset);
        Access {
            address: pc,
            pc,
            size_bytes: self.size_bytes,
            kind: self.kind,
        }
    }
}

impl Templates {
    /// Returns the number of templates.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of accesses of a template.
    ///
    /// # Panics
    /// If there is no such template.
    pub fn size(&self, template: u32) -> Size {
        let template = &self.all[template as usize];
        // At most 65 000 and 122.
        Size {
            data: template.data_count as u16,
            fetches: (template.access_count - template.data_count) as u16,
        }
    }

    /// Returns the range of a template's accesses.
    ///
    /// # Panics
    /// If there is no such template.
    pub fn get(&self, template: u32) -> Template {
        self.all[template as usize]
    }

    /// Returns the maximum number of accesses of a template.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the accesses of a template, without data addresses.
    pub fn accesses(&self, template: &Template) -> impl Iterator<Item = Access> {
        let stored =
            &self.accesses[template.first_access as usize..][..template.access_count as usize];
        let start = template.start;
        stored.iter().map(move |one| one.access(start))
    }

    /// Copies the accesses of a template, without data addresses, to the start of `room`. Returns
    /// them, and the indices of the data accesses among them.
    ///
    /// # Panics
    /// If `room` is too small.
    #[inline(always)]
    pub fn expand<'r>(
        &self,
        template: &Template,
        room: &'r mut [Access],
    ) -> (&'r mut [Access], &[u16]) {
        let stored =
            &self.accesses[template.first_access as usize..][..template.access_count as usize];
        let room = &mut room[..stored.len()];
        for (access, one) in room.iter_mut().zip(stored) {
            *access = one.access(template.start);
        }
        (
            room,
            &self.holes[template.first_hole as usize..][..template.data_count as usize],
        )
    }

    /// Sets the function that each template enters, by its code block.
    pub fn enter(&mut self, entered: &[Option<FunctionId>]) {
        for template in &mut self.all {
            let entry = entered[template.code_block as usize];
            template.entry = entry.map_or(0, |entry| entry.0 + 1);
        }
    }

    /// Adds the next template: the accesses `data` of one execution of a code block. The block is
    /// passed with its number, and `entry` is the function that it enters.
    ///
    /// A line of code is fetched before the data accesses of the first instruction with a byte on
    /// it, or at the end if no data access follows.
    ///
    /// # Errors
    /// The rule that the template breaks.
    pub fn push(
        &mut self,
        (code_block, block): (u32, &CodeBlock),
        entry: Option<FunctionId>,
        data: &[DataAccess],
    ) -> Result<(), Malformed> {
        check_template(block.instructions.len(), data)?;
        let too_many = |_| Malformed::TooManyTemplates;
        let first_access = u32::try_from(self.accesses.len()).map_err(too_many)?;
        let first_hole = u32::try_from(self.holes.len()).map_err(too_many)?;
        let number = u32::try_from(self.all.len()).map_err(too_many)?;
        let template = Template {
            number,
            start: block.start,
            first_access,
            first_hole,
            access_count: 0,
            data_count: data.len() as u32,
            code_block,
            entry: entry.map_or(0, |entry| entry.0 + 1),
        };
        let mut fetched = 0;
        for access in data {
            let instruction = block.instructions[access.instruction()];
            let end = instruction.offset + u16::from(instruction.size_bytes);
            self.fetch(&mut fetched, end, block);
            self.holes
                .push((self.accesses.len() - first_access as usize) as u16);
            self.accesses.push(TemplateAccess {
                offset: instruction.offset,
                size_bytes: access.size_bytes(),
                kind: access.kind(),
            });
        }
        self.fetch(&mut fetched, size_of_code(block), block);
        let access_count = self.accesses.len() - first_access as usize;
        self.longest = self.longest.max(access_count);
        self.all.push(Template {
            access_count: access_count as u32,
            ..template
        });
        Ok(())
    }

    /// Fetches every line of the block that begins before `until` and is not yet fetched.
    fn fetch(&mut self, fetched: &mut u16, until: u16, block: &CodeBlock) {
        while *fetched < until {
            let in_line = (block.start + u64::from(*fetched)) & LINE_MASK;
            let to_line_end = (LINE_MASK + 1 - in_line) as u16;
            let size_bytes = to_line_end.min(size_of_code(block) - *fetched);
            self.accesses.push(TemplateAccess {
                offset: *fetched,
                size_bytes,
                kind: Kind::Fetch,
            });
            *fetched += size_bytes;
        }
    }
}

const LINE_MASK: u64 = (1 << LINE_SHIFT) - 1;

/// Checks that one execution of a block with this many instructions can have made `data`.
///
/// # Errors
/// The rule that the template breaks.
pub fn check_template(instructions: usize, data: &[DataAccess]) -> Result<(), Malformed> {
    let mut previous = 0;
    for access in data {
        let place = access.instruction();
        if place >= instructions {
            return Err(Malformed::NoSuchInstruction { place });
        }
        if access.size_bytes() == 0 {
            return Err(Malformed::EmptyAccess);
        }
        if place < previous {
            return Err(Malformed::OutOfProgramOrder);
        }
        previous = place;
    }
    match data.len() {
        0..=MAX_DATA_ACCESSES => Ok(()),
        count => Err(Malformed::TooManyAccesses { count }),
    }
}

/// Returns the length of the block's code in bytes.
fn size_of_code(block: &CodeBlock) -> u16 {
    let last = block.instructions.last();
    last.map_or(0, |last| last.offset + u16::from(last.size_bytes))
}

/// Returns the number of fetches in one execution of the block: the number of its lines.
pub fn fetches_of(block: &CodeBlock) -> u64 {
    let last = block.start + u64::from(size_of_code(block).max(1)) - 1;
    (last >> LINE_SHIFT) - (block.start >> LINE_SHIFT) + 1
}

/// Checks the rules for code blocks.
///
/// # Errors
/// The rule that the block breaks.
pub fn check_code_block(block: &CodeBlock) -> Result<(), Malformed> {
    let at = block.start;
    if block.instructions.is_empty() || block.instructions.len() > MAX_INSTRUCTIONS {
        let count = block.instructions.len();
        return Err(Malformed::Instructions { at, count });
    }
    let mut offset = 0;
    for instruction in &block.instructions {
        if !(1..=15).contains(&instruction.size_bytes) {
            let size_bytes = instruction.size_bytes;
            return Err(Malformed::InstructionSize { at, size_bytes });
        }
        if instruction.offset != offset {
            return Err(Malformed::Gap { at });
        }
        offset += u16::from(instruction.size_bytes);
    }
    check_dependences(block.instructions.len(), &block.dependences)?;
    check_pointers(block.instructions.len(), &block.pointers)?;
    // One line more, so that no sum of addresses within the block's lines can overflow.
    if at
        .checked_add(u64::from(offset) + (1 << LINE_SHIFT))
        .is_none()
    {
        return Err(Malformed::BeyondTheLastAddress { at });
    }
    Ok(())
}
