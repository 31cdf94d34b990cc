//! Functions, code blocks and templates in a trace file: an entry stores many of them as columns.

use crate::codec::template::{DataAccess, MAX_INSTRUCTIONS, check_code_block};
use crate::format::column::{Packed, pack, room, unpack};
use crate::format::entry::{Message, message};
use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::{code_blocks, entry, functions, shapes};
use crate::model::dependence::Dependence;
use crate::model::ids::FunctionId;
use crate::model::pointer::Pointer;
use crate::model::program::{CodeBlock, Function};
use zstd::bulk::{Compressor, Decompressor};

/// Maximum number of definitions in one entry, to bound the memory for reading it.
pub const MAX_DEFINITIONS: usize = 1 << 16;
/// Maximum number, in one entry, of data accesses of all templates, of dependences of all code
/// blocks, and of bytes of all texts.
pub const MAX_DETAILS: usize = 1 << 22;

/// A code block and the function that it enters.
pub type EnteredBlock = (CodeBlock, Option<FunctionId>);

/// A template in a writer: code block number and data accesses.
pub type WrittenTemplate = (u32, Vec<DataAccess>);

/// Packs functions into an entry.
pub fn write_functions(
    compressor: &mut Compressor<'_>,
    all: &[Function],
) -> std::io::Result<Message> {
    let mut texts = Vec::new();
    for function in all {
        texts.extend_from_slice(function.symbol.as_bytes());
        texts.push(0);
        if function.name != function.symbol {
            texts.push(b'=');
            texts.extend_from_slice(function.name.as_bytes());
        }
        texts.push(0);
        if let Some(reason) = &function.unpatchable {
            texts.push(b'=');
            texts.extend_from_slice(reason.as_bytes());
        }
        texts.push(0);
    }
    let modules: Vec<u32> = all.iter().map(|function| function.module).collect();
    let offsets: Vec<u64> = all.iter().map(|function| function.offset).collect();
    let sizes: Vec<u64> = all.iter().map(|function| function.size_bytes).collect();
    let modules = pack(compressor, &modules)?;
    let offsets = pack(compressor, &offsets)?;
    let sizes = pack(compressor, &sizes)?;
    let texts = pack(compressor, &texts)?;
    let mut message = message_for(&[&modules, &offsets, &sizes, &texts]);
    let mut functions = root(&mut message).init_functions();
    functions.set_count(all.len() as u32);
    modules.store(functions.reborrow().init_modules());
    offsets.store(functions.reborrow().init_offsets());
    sizes.store(functions.reborrow().init_sizes());
    texts.store(functions.init_texts());
    Ok(message)
}

/// Packs code blocks into an entry.
pub fn write_code_blocks(
    compressor: &mut Compressor<'_>,
    all: &[EnteredBlock],
) -> std::io::Result<Message> {
    let starts: Vec<u64> = all.iter().map(|(block, _)| block.start).collect();
    let entries: Vec<u32> = all
        .iter()
        .map(|(_, entry)| entry.map_or(0, |f| f.0 + 1))
        .collect();
    let counts = all.iter().map(|(block, _)| block.instructions.len() as u16);
    let counts: Vec<u16> = counts.collect();
    let instructions = all.iter().flat_map(|(block, _)| &block.instructions);
    let sizes: Vec<u8> = instructions
        .map(|instruction| instruction.size_bytes)
        .collect();
    let starts = pack(compressor, &starts)?;
    let entries = pack(compressor, &entries)?;
    let counts = pack(compressor, &counts)?;
    let sizes = pack(compressor, &sizes)?;
    let dependences = pack_dependences(compressor, all)?;
    let mut columns = vec![&starts, &entries, &counts, &sizes];
    columns.extend(dependences.iter().flatten());
    let pointers = pack_pointers(compressor, all)?;
    columns.extend(pointers.iter().flatten());
    let mut message = message_for(&columns);
    let mut blocks = root(&mut message).init_code_blocks();
    blocks.set_count(all.len() as u32);
    starts.store(blocks.reborrow().init_starts());
    entries.store(blocks.reborrow().init_entries());
    counts.store(blocks.reborrow().init_instruction_counts());
    sizes.store(blocks.reborrow().init_instruction_sizes());
    if let Some([counts, all]) = dependences {
        counts.store(blocks.reborrow().init_dependence_counts());
        all.store(blocks.reborrow().init_dependences());
    }
    if let Some([counts, all]) = pointers {
        counts.store(blocks.reborrow().init_pointer_counts());
        all.store(blocks.init_pointers());
    }
    Ok(message)
}

/// Packs the dependences into columns, if any are known.
fn pack_dependences(
    compressor: &mut Compressor<'_>,
    blocks: &[EnteredBlock],
) -> std::io::Result<Option<[Packed; 2]>> {
    let counts = blocks
        .iter()
        .map(|(block, _)| block.dependences.len() as u16);
    let counts: Vec<u16> = counts.collect();
    let all = blocks.iter().flat_map(|(block, _)| &block.dependences);
    let all: Vec<u32> = all.map(|dependence| dependence.pack()).collect();
    match all.is_empty() {
        true => Ok(None),
        false => Ok(Some([pack(compressor, &counts)?, pack(compressor, &all)?])),
    }
}

/// Packs the pointers into columns, if any are known.
fn pack_pointers(
    compressor: &mut Compressor<'_>,
    blocks: &[EnteredBlock],
) -> std::io::Result<Option<[Packed; 2]>> {
    let counts = blocks.iter().map(|(block, _)| block.pointers.len() as u16);
    let counts: Vec<u16> = counts.collect();
    let all = blocks.iter().flat_map(|(block, _)| &block.pointers);
    let all: Vec<u64> = all.map(|pointer| pointer.pack()).collect();
    match all.is_empty() {
        true => Ok(None),
        false => Ok(Some([pack(compressor, &counts)?, pack(compressor, &all)?])),
    }
}

/// Packs templates into an entry.
pub fn write_templates(
    compressor: &mut Compressor<'_>,
    all: &[WrittenTemplate],
) -> std::io::Result<Message> {
    let blocks: Vec<u32> = all.iter().map(|(block, _)| *block).collect();
    let counts: Vec<u16> = all.iter().map(|(_, data)| data.len() as u16).collect();
    let accesses: Vec<DataAccess> = all.iter().flat_map(|(_, data)| data).copied().collect();
    let blocks = pack(compressor, &blocks)?;
    let counts = pack(compressor, &counts)?;
    let accesses = pack(compressor, &accesses)?;
    let mut message = message_for(&[&blocks, &counts, &accesses]);
    let mut templates = root(&mut message).init_shapes();
    templates.set_count(all.len() as u32);
    blocks.store(templates.reborrow().init_code_blocks());
    counts.store(templates.reborrow().init_access_counts());
    accesses.store(templates.init_accesses());
    Ok(message)
}

fn message_for(columns: &[&Packed]) -> Message {
    message(room(columns.iter().copied()))
}

fn root(message: &mut Message) -> entry::Builder<'_> {
    message.init_root()
}

/// Reads the functions of an entry.
pub fn read_functions(
    decompressor: &mut Decompressor<'_>,
    entry: functions::Reader<'_>,
) -> Result<Vec<Function>, Violation> {
    let count = bounded(entry.get_count())?;
    let (mut modules, mut offsets, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    unpack::<u32>(
        decompressor,
        entry.get_modules(),
        "modules",
        count,
        &mut modules,
    )?;
    unpack::<u64>(
        decompressor,
        entry.get_offsets(),
        "offsets",
        count,
        &mut offsets,
    )?;
    unpack::<u64>(decompressor, entry.get_sizes(), "sizes", count, &mut sizes)?;
    let column = entry.get_texts()?;
    let length = column.get_bytes() as usize;
    if length > MAX_DETAILS {
        let detail = format!("the functions' names claim {length} bytes");
        return Err(Rule::Columns.broken(detail));
    }
    let mut texts = Vec::new();
    unpack::<u8>(decompressor, Ok(column), "texts", length, &mut texts)?;
    let texts = std::str::from_utf8(&texts)?;
    let mut texts = texts.split_terminator('\0');
    let mut text = || {
        texts
            .next()
            .ok_or_else(|| Rule::Program.broken("names are missing"))
    };
    let mut all = Vec::with_capacity(count);
    for index in 0..count {
        let symbol = text()?.to_owned();
        let name = text()?.strip_prefix('=').unwrap_or(&symbol).to_owned();
        let unpatchable = text()?.strip_prefix('=').map(str::to_owned);
        all.push(Function {
            module: modules[index],
            offset: offsets[index],
            size_bytes: sizes[index],
            symbol,
            name,
            unpatchable,
        });
    }
    match texts.next() {
        None => Ok(all),
        Some(_) => Err(Rule::Program.broken("there are more names than functions")),
    }
}

/// Reads the code blocks of an entry.
pub fn read_code_blocks(
    decompressor: &mut Decompressor<'_>,
    entry: code_blocks::Reader<'_>,
) -> Result<Vec<EnteredBlock>, Violation> {
    let count = bounded(entry.get_count())?;
    let (mut starts, mut entries, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    unpack::<u64>(
        decompressor,
        entry.get_starts(),
        "starts",
        count,
        &mut starts,
    )?;
    unpack::<u32>(
        decompressor,
        entry.get_entries(),
        "entries",
        count,
        &mut entries,
    )?;
    let column = entry.get_instruction_counts();
    unpack::<u16>(
        decompressor,
        column,
        "instructionCounts",
        count,
        &mut counts,
    )?;
    if counts.iter().any(|&n| usize::from(n) > MAX_INSTRUCTIONS) {
        return Err(Rule::Program.broken("a code block has more than 512 instructions"));
    }
    let total = counts.iter().map(|&count| usize::from(count)).sum();
    let mut sizes = Vec::new();
    let column = entry.get_instruction_sizes();
    unpack::<u8>(decompressor, column, "instructionSizes", total, &mut sizes)?;
    let mut sizes = sizes.into_iter();
    let mut dependences = read_dependences(decompressor, entry, count)?.into_iter();
    let mut pointers = read_pointers(decompressor, entry, count)?.into_iter();
    let mut all = Vec::with_capacity(count);
    for index in 0..count {
        let own = sizes.by_ref().take(usize::from(counts[index]));
        let block = CodeBlock {
            dependences: dependences.next().unwrap_or_default(),
            pointers: pointers.next().unwrap_or_default(),
            ..CodeBlock::new(starts[index], own)
        };
        check_code_block(&block).map_err(|detail| Rule::Program.broken(detail))?;
        all.push((block, entries[index].checked_sub(1).map(FunctionId)));
    }
    Ok(all)
}

/// Reads the dependences of an entry's code blocks; empty if it has no such columns.
fn read_dependences(
    decompressor: &mut Decompressor<'_>,
    entry: code_blocks::Reader<'_>,
    count: usize,
) -> Result<Vec<Vec<Dependence>>, Violation> {
    if !entry.has_dependence_counts() {
        return Ok(Vec::new());
    }
    let (mut counts, mut packed) = (Vec::new(), Vec::new());
    let column = entry.get_dependence_counts();
    unpack::<u16>(decompressor, column, "dependenceCounts", count, &mut counts)?;
    let total = counts.iter().map(|&count| usize::from(count)).sum();
    if total > MAX_DETAILS {
        let detail = format!("the code blocks of one entry claim {total} dependences");
        return Err(Rule::Columns.broken(detail));
    }
    let column = entry.get_dependences();
    unpack::<u32>(decompressor, column, "dependences", total, &mut packed)?;
    let mut packed = packed.into_iter().map(|number| {
        let wrong = || Rule::Program.broken(format!("{number:#x} is no dependence"));
        Dependence::unpack(number).ok_or_else(wrong)
    });
    let own = |count| packed.by_ref().take(usize::from(count)).collect();
    counts.into_iter().map(own).collect()
}

/// Reads the pointers of an entry's code blocks; empty if it has no such columns.
fn read_pointers(
    decompressor: &mut Decompressor<'_>,
    entry: code_blocks::Reader<'_>,
    count: usize,
) -> Result<Vec<Vec<Pointer>>, Violation> {
    if !entry.has_pointer_counts() {
        return Ok(Vec::new());
    }
    let (mut counts, mut packed) = (Vec::new(), Vec::new());
    let column = entry.get_pointer_counts();
    unpack::<u16>(decompressor, column, "pointerCounts", count, &mut counts)?;
    let total = counts.iter().map(|&count| usize::from(count)).sum();
    if total > MAX_DETAILS {
        let detail = format!("the code blocks of one entry claim {total} pointers");
        return Err(Rule::Columns.broken(detail));
    }
    let column = entry.get_pointers();
    unpack::<u64>(decompressor, column, "pointers", total, &mut packed)?;
    let mut packed = packed.into_iter().map(|number| {
        let wrong = || Rule::Program.broken(format!("{number:#x} is no pointer"));
        Pointer::unpack(number).ok_or_else(wrong)
    });
    let own = |count| packed.by_ref().take(usize::from(count)).collect();
    counts.into_iter().map(own).collect()
}

/// Reads the templates of an entry and passes each to `take`.
pub fn read_templates(
    decompressor: &mut Decompressor<'_>,
    entry: shapes::Reader<'_>,
    mut take: impl FnMut(u32, &[DataAccess]) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let count = bounded(entry.get_count())?;
    let (mut blocks, mut counts) = (Vec::new(), Vec::new());
    unpack::<u32>(
        decompressor,
        entry.get_code_blocks(),
        "codeBlocks",
        count,
        &mut blocks,
    )?;
    unpack::<u16>(
        decompressor,
        entry.get_access_counts(),
        "accessCounts",
        count,
        &mut counts,
    )?;
    let total: usize = counts.iter().map(|&count| usize::from(count)).sum();
    if total > MAX_DETAILS {
        let detail = format!("the shapes of one entry claim {total} data accesses");
        return Err(Rule::Columns.broken(detail));
    }
    let mut accesses = Vec::new();
    unpack::<DataAccess>(
        decompressor,
        entry.get_accesses(),
        "accesses",
        total,
        &mut accesses,
    )?;
    let mut rest = &accesses[..];
    for (block, count) in blocks.into_iter().zip(counts) {
        let (own, others) = rest.split_at(usize::from(count));
        rest = others;
        take(block, own)?;
    }
    Ok(())
}

fn bounded(count: u32) -> Result<usize, Violation> {
    match count as usize {
        count if count <= MAX_DEFINITIONS => Ok(count),
        count => Err(Rule::Columns.broken(format!("one entry claims {count} definitions"))),
    }
}

#[cfg(test)]
mod tests;
