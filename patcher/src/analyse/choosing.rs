//! The implementations from which a resolver chooses.
//!
//! The symbol of an indirect function (`STT_GNU_IFUNC`) is the entry of a resolver. Only the loader
//! calls it, and then calls of the name reach the implementation that it returned. A resolver has
//! the addresses of the implementations in its instructions, or loads them from words that the
//! loader fills in. Its result depends on the processor, so all candidates are returned.

use super::functions::{Layout, layout};
use crate::elf::{Image, pointers};
use crate::error::Error;
use corehop_support::whole_file;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::BTreeSet;
use std::path::Path;

/// More than the number of functions that a resolver calls.
const MOST_FUNCTIONS: usize = 16;

/// The entries of the implementations from which the resolver at virtual address `offset` of the
/// file at `path` chooses, in ascending order. They are those found in its code. `None` without a
/// resolver.
///
/// # Errors
/// [`Error::Read`] when the file cannot be read, [`Error::Input`] when it is not a whole x86-64 ELF
/// program or library.
pub fn implementations(path: &Path, offset: u64) -> Result<Option<Vec<u64>>, Error> {
    let bytes = whole_file::bytes(path).map_err(Error::reading(path))?;
    let image = Image::new(bytes, path)?;
    let layout = layout(&image);
    let is_resolver = layout.resolvers.contains(&offset);
    Ok(is_resolver.then(|| chosen_from(&image, &layout, offset)))
}

fn chosen_from(image: &Image, layout: &Layout, resolver: u64) -> Vec<u64> {
    let mut filled = pointers(image);
    filled.sort_unstable();
    let mut found = BTreeSet::new();
    let mut left = vec![resolver];
    let mut seen = BTreeSet::new();
    while let Some(start) = left.pop() {
        if seen.len() == MOST_FUNCTIONS || !seen.insert(start) {
            continue;
        }
        for instruction in instructions(image, layout, start) {
            if let Some(address) = address_in(&instruction, &filled, image.fixed)
                && layout.is_function(address)
                && !layout.resolvers.contains(&address)
            {
                found.insert(address);
            }
            let leads = matches!(
                instruction.flow_control(),
                FlowControl::Call | FlowControl::UnconditionalBranch
            );
            if leads && layout.begins(instruction.near_branch_target()) {
                left.push(instruction.near_branch_target());
            }
        }
    }
    found.into_iter().collect()
}

/// The instructions of the function or fragment that begins at `start`.
fn instructions(image: &Image, layout: &Layout, start: u64) -> Vec<Instruction> {
    let (Some(bytes), Some(end)) = (image.bytes_at(start), layout.end_of(start)) else {
        return Vec::new();
    };
    let size = usize::try_from(end - start).unwrap_or(usize::MAX);
    let bytes = &bytes[..bytes.len().min(size)];
    Decoder::with_ip(64, bytes, start, DecoderOptions::NONE)
        .into_iter()
        .collect()
}

/// The address that an instruction takes: its own, or that of a word that the loader fills in. In a
/// file linked for a `fixed` address, also the immediate that it moves.
fn address_in(instruction: &Instruction, filled: &[(u64, u64)], fixed: bool) -> Option<u64> {
    if instruction.is_ip_rel_memory_operand() {
        let address = instruction.ip_rel_memory_address();
        if instruction.mnemonic() == Mnemonic::Lea {
            return Some(address);
        }
        let first = filled.partition_point(|&(place, _)| place < address);
        let word = filled.get(first).filter(|&&(place, _)| place == address);
        return word.map(|&(_, held)| held);
    }
    let is_address = matches!(
        instruction.op1_kind(),
        OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64
    );
    let moves = fixed && instruction.mnemonic() == Mnemonic::Mov && is_address;
    moves.then(|| instruction.immediate(1))
}
