//! The exits of a function: the return instructions by which its calls can end.
//!
//! A call ends when its return address is popped. The popping function may be the called one, a
//! cold fragment of it, or a function that it tail-calls. So all of these are read, from first byte
//! to last. If a jump leads anywhere else, not every exit is known. Exceptions and
//! `longjmp` use no return; the runtime detects those by the stack that they leave. Rejected: to
//! put another return address on the stack, which breaks debuggers, profilers and exceptions.

use super::displaced::{Displaced, JUMP_SIZE, displaced_at_return, is_return};
use super::functions::Layout;
use super::obstacle::Obstacle;
use super::targets::Landings;
use crate::elf::Image;
use crate::elf::abi::{PF_W, PF_X};
use crate::elf::bytes::{u32_at, u64_at};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// More functions than one call ends in, unless it can end almost anywhere.
const MOST_PARTS: usize = 64;
/// A jump through a table computes its target within this many instructions before it.
const LOOK_BACK: usize = 8;

/// What a search for the ways out needs to know about a file.
pub(super) struct Asked<'a> {
    pub image: &'a Image,
    pub layout: &'a Layout,
    pub landings: &'a Landings,
    /// What a hook at a function's entry would displace.
    pub entry: &'a dyn Fn(u64) -> Result<Displaced, Obstacle>,
}

/// The instructions to displace at every return by which a call of the function at `entry` can end,
/// by address; or why not all of them can be hooked.
pub(super) fn ways_out(asked: &Asked<'_>, entry: u64) -> Result<Vec<Displaced>, Obstacle> {
    let mut walk = Walk {
        asked,
        parts: BTreeSet::new(),
        waiting: Vec::new(),
        found: BTreeMap::new(),
    };
    walk.enter(entry);
    while let Some(part) = walk.waiting.pop() {
        if walk.parts.len() > MOST_PARTS {
            return Err(Obstacle::EndsAnywhere(MOST_PARTS));
        }
        walk.read(part)?;
    }
    Ok(walk.found.into_values().collect())
}

struct Walk<'a> {
    asked: &'a Asked<'a>,
    /// Starts of the functions and fragments that the call can end in.
    parts: BTreeSet<u64>,
    waiting: Vec<u64>,
    found: BTreeMap<u64, Displaced>,
}

impl Walk<'_> {
    fn enter(&mut self, part: u64) {
        if self.parts.insert(part) {
            self.waiting.push(part);
        }
    }

    /// Reads one function or fragment linearly.
    fn read(&mut self, part: u64) -> Result<(), Obstacle> {
        let Asked { image, layout, .. } = *self.asked;
        let end = layout.end_of(part).unwrap_or(part);
        let bytes = image.bytes_at(part).unwrap_or_default();
        let size = bytes.len().min((end - part) as usize);
        let mut decoder = Decoder::with_ip(64, &bytes[..size], part, DecoderOptions::NONE);
        // A return among the instructions that an entry's hook displaces is hooked there, if at
        // all.
        let entry = match layout.is_function(part) {
            true => (self.asked.entry)(part).ok(),
            false => None,
        };
        let resume = entry.as_ref().map_or(part, |displaced| {
            displaced.site + (displaced.bytes.len() as u64).max(JUMP_SIZE)
        });
        let mut before: Vec<Instruction> = Vec::new();
        // The index at which the straight line that leads here begins, in `before`.
        let mut line = 0;
        while decoder.can_decode() {
            let instruction = decoder.decode();
            let at = instruction.ip();
            if instruction.code() == Code::INVALID {
                return Err(Obstacle::NoInstruction(at));
            }
            if self.asked.landings.has(at) || at == resume {
                line = before.len();
            }
            before.push(instruction);
            match instruction.flow_control() {
                FlowControl::Next => {}
                FlowControl::Return => {
                    self.check_return(&instruction)?;
                    let displaced = match &entry {
                        Some(displaced) if at < resume => displaced.clone(),
                        _ => displaced_at_return(
                            image,
                            layout,
                            self.asked.landings,
                            &before[line..],
                        )?,
                    };
                    self.found.insert(displaced.site, displaced);
                    line = before.len();
                }
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                    self.jump(&instruction, part..end)?;
                    line = before.len();
                }
                FlowControl::IndirectBranch => {
                    self.jump_through(&instruction, &before)?;
                    line = before.len();
                }
                _ => line = before.len(),
            }
            for part in self.fragments(&instruction) {
                self.enter(part);
            }
        }
        Ok(())
    }

    fn check_return(&self, instruction: &Instruction) -> Result<(), Obstacle> {
        let at = instruction.ip();
        if !is_return(instruction) {
            return Err(Obstacle::FarReturn(at));
        }
        if !self.asked.layout.is_bare(at) {
            return Err(Obstacle::NoUnwindInformation(at));
        }
        Ok(())
    }

    /// A direct jump: within the function, to a fragment of it, or to a function that returns in
    /// its place.
    fn jump(&mut self, jump: &Instruction, own: Range<u64>) -> Result<(), Obstacle> {
        let (at, to) = (jump.ip(), jump.near_branch64());
        if jump.op0_kind() != OpKind::NearBranch64 {
            return Err(Obstacle::FarJump(at));
        }
        if own.contains(&to) {
            return Ok(());
        }
        let layout = self.asked.layout;
        if self.is_stub(to) {
            return Err(Obstacle::EndsInOtherFile(at));
        }
        let Some(part) = layout.part_at(to) else {
            return Err(Obstacle::LeadsToUnknown { at, to });
        };
        if layout.is_function(part) && part != to && !self.parts.contains(&part) {
            return Err(Obstacle::LeadsIntoMidst { at, to });
        }
        if layout.is_function(part) && part == to && !layout.is_bare(at) {
            return Err(Obstacle::LeadsToOther(at));
        }
        self.enter(part);
        Ok(())
    }

    /// A jump through a register or memory: with a table it stays inside, else its target is
    /// unknown.
    fn jump_through(&self, jump: &Instruction, before: &[Instruction]) -> Result<(), Obstacle> {
        let at = jump.ip();
        let leaves = jump.is_ip_rel_memory_operand()
            || self.asked.layout.is_bare(at) && !is_table_jump(jump, before);
        match leaves {
            true => Err(Obstacle::EndsByPointer(at)),
            false => Ok(()),
        }
    }

    /// Whether `address` is a stub of a procedure linkage table.
    fn is_stub(&self, address: u64) -> bool {
        let bytes = self.asked.image.bytes_at(address).unwrap_or_default();
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let mut instruction = decoder.decode();
        if instruction.mnemonic() == Mnemonic::Endbr64 {
            instruction = decoder.decode();
        }
        instruction.flow_control() == FlowControl::IndirectBranch
            && instruction.is_ip_rel_memory_operand()
    }

    /// Fragments to which a jump table leads, if the instruction takes the table's address. The end
    /// of a table is not recorded. The bytes after it may yield fragments of other functions, whose
    /// hooks find nothing to do.
    fn fragments(&self, instruction: &Instruction) -> Vec<u64> {
        let Asked { image, layout, .. } = *self.asked;
        let is_near = instruction.is_ip_rel_memory_operand();
        let is_far = is_table_entry(instruction);
        let table = instruction.memory_displacement64();
        let segment = image.segment_at(table);
        let is_constant = segment.is_some_and(|s| s.flags & (PF_W | PF_X) == 0);
        let takes = is_far && image.fixed || is_near && instruction.mnemonic() == Mnemonic::Lea;
        if !takes || !is_constant {
            return Vec::new();
        }
        let bytes = image.bytes_at(table).unwrap_or_default();
        let target = |index: u64| match is_far {
            true => u64_at(bytes, index * 8),
            false => u32_at(bytes, index * 4)
                .map(|distance| table.wrapping_add_signed(i64::from(distance as i32))),
        };
        let parts = (0..).map_while(|index| layout.part_at(target(index)?));
        parts.filter(|&part| !layout.is_function(part)).collect()
    }
}

/// Whether the jump's target comes from a table in the form that compilers generate: a distance
/// added to the table's address, or an entry of a table at a fixed address.
fn is_table_jump(jump: &Instruction, before: &[Instruction]) -> bool {
    if jump.op0_kind() == OpKind::Memory {
        return is_table_entry(jump);
    }
    let register = jump.op0_register();
    let writes = |instruction: &&Instruction| {
        instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register() == register
            && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
    };
    let earlier = before.iter().rev().skip(1).take(LOOK_BACK);
    let last = earlier.into_iter().find(writes);
    last.is_some_and(|last| match last.mnemonic() {
        Mnemonic::Add => last.op1_kind() == OpKind::Register,
        Mnemonic::Mov => last.op1_kind() == OpKind::Memory && is_table_entry(last),
        _ => false,
    })
}

/// Whether the instruction's operand is an entry of a table of addresses at a fixed place.
fn is_table_entry(instruction: &Instruction) -> bool {
    instruction.memory_base() == Register::None
        && instruction.memory_index() != Register::None
        && instruction.memory_index_scale() == 8
}
