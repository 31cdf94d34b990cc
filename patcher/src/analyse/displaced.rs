//! Which instructions make room for a hook's jump, and whether they may be moved.
//!
//! A five-byte jump overwrites the entry, or the code after an `endbr64`, which indirect calls
//! need. All instructions that it overlaps are displaced: the trampoline runs copies of them. The
//! padding after a short function may be used too, if it is only filler.

use super::functions::Layout;
use super::obstacle::Obstacle;
use super::targets::{Landings, Target};
use crate::elf::Image;
use crate::elf::abi::PF_X;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, Encoder, FlowControl,
    Instruction, InstructionBlock, Mnemonic, OpKind, Register,
};

/// Size of the `jmp rel32` at a patched entry.
pub(crate) const JUMP_SIZE: u64 = 5;

const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// The instructions a hook displaces.
#[derive(Clone, Debug)]
pub(crate) struct Displaced {
    /// Where the jump goes: the entry, or behind its `endbr64`.
    pub site: u64,
    /// The displaced instructions, decoded at their original addresses; filler is left out.
    pub instructions: Vec<Instruction>,
    /// Their bytes.
    pub bytes: Vec<u8>,
    /// Where the function continues; `None` if the last instruction never falls through.
    pub resume: Option<u64>,
}

/// Whether an instruction pops a return address and jumps to it.
pub(crate) fn is_return(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Retnq | Code::Retnq_imm16)
}

impl Displaced {
    /// Each instruction with its original bytes.
    pub fn parts(&self) -> impl Iterator<Item = (&Instruction, &[u8])> {
        self.instructions.iter().map(|instruction| {
            let start = (instruction.ip() - self.site) as usize;
            (instruction, &self.bytes[start..start + instruction.len()])
        })
    }
}

/// Chooses the instructions that a jump at `entry` displaces, or reports why that would not be
/// safe.
pub(super) fn displaced_at_entry(
    image: &Image,
    layout: &Layout,
    targets: &[Target],
    entry: u64,
) -> Result<Displaced, Obstacle> {
    let end = layout.end_of_entered(entry).ok_or(Obstacle::NoEntry)?;
    let segment = image.segment_at(entry);
    if !segment.is_some_and(|s| s.is_loaded(PF_X)) {
        return Err(Obstacle::NotExecutable);
    }
    let code = image.bytes_at(entry).unwrap_or_default();
    let skipped = if code.starts_with(&ENDBR64) { 4 } else { 0 };
    let site = entry + skipped;
    let displaced = read_displaced(&code[skipped as usize..], site, end)?;
    let free = site + JUMP_SIZE;
    let following = layout.starts[layout.starts.partition_point(|&s| s <= entry)..].first();
    if let Some(next) = following.filter(|&&next| next < free) {
        return Err(Obstacle::NextFunction(*next));
    }
    let first = targets.partition_point(|t| t.address <= site);
    if let Some(target) = targets[first..].first().filter(|t| t.address < free) {
        return Err(Obstacle::Entered(*target));
    }
    for (instruction, original) in displaced.parts() {
        movable(instruction, original, free)?;
    }
    Ok(displaced)
}

/// Decodes whole instructions from `site` until they cover the jump. Beyond the function's `end`,
/// or behind an instruction that never falls through, only filler may follow.
fn read_displaced(code: &[u8], site: u64, end: u64) -> Result<Displaced, Obstacle> {
    let mut decoder = Decoder::with_ip(64, code, site, DecoderOptions::NONE);
    let mut instructions = Vec::<Instruction>::new();
    let mut falls_through = true;
    while decoder.ip() < site + JUMP_SIZE {
        let at = decoder.ip();
        if !decoder.can_decode() {
            return Err(Obstacle::SegmentEnds(at));
        }
        let instruction = decoder.decode();
        if instruction.code() == Code::INVALID {
            return Err(Obstacle::NoInstruction(at));
        }
        if falls_through && at < end {
            if instruction.next_ip() > end {
                return Err(Obstacle::CrossesEnd(at));
            }
            falls_through = may_fall_through(&instruction);
            instructions.push(instruction);
        } else if falls_through {
            return Err(Obstacle::RunsOn(at));
        } else if !is_filler(&instruction) {
            return Err(Obstacle::OtherCode(at));
        }
    }
    let last = instructions.last().map(|i| i.next_ip());
    let size = last.map_or(0, |end| (end - site) as usize);
    Ok(Displaced {
        site,
        instructions,
        bytes: code[..size].into(),
        resume: last.filter(|_| falls_through),
    })
}

/// Chooses the instructions that a jump at a return displaces, from the straight `line` that ends
/// with it. It takes as few as make room, and filler after the return if the line is too short.
pub(super) fn displaced_at_return(
    image: &Image,
    layout: &Layout,
    landings: &Landings,
    line: &[Instruction],
) -> Result<Displaced, Obstacle> {
    let end = line.last().map_or(0, Instruction::next_ip);
    let is_enough = |from: &Instruction| end - from.ip() >= JUMP_SIZE;
    let enough = line.iter().rposition(is_enough);
    let instructions = &line[enough.unwrap_or(0)..];
    let site = instructions.first().map_or(end, Instruction::ip);
    let free = site + JUMP_SIZE;
    let code = image.bytes_at(site).unwrap_or_default();
    let mut decoder = Decoder::with_ip(64, code, site, DecoderOptions::NONE);
    while decoder.ip() < free.max(end) {
        let instruction = decoder.decode();
        let at = instruction.ip();
        let is_free =
            is_filler(&instruction) && !(at..free).any(|at| landings.has(at) || layout.begins(at));
        if at >= end && !is_free {
            return Err(Obstacle::NoRoomAtReturn {
                at: end - 1,
                next: at,
            });
        }
    }
    let displaced = Displaced {
        site,
        instructions: instructions.into(),
        bytes: code[..(end - site) as usize].into(),
        resume: None,
    };
    for (instruction, original) in displaced.parts() {
        movable(instruction, original, free)?;
    }
    Ok(displaced)
}

fn may_fall_through(instruction: &Instruction) -> bool {
    !matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::Return
            | FlowControl::Exception
    )
}

fn is_filler(instruction: &Instruction) -> bool {
    let mnemonic = instruction.mnemonic();
    matches!(mnemonic, Mnemonic::Nop | Mnemonic::Int3)
}

/// Whether a copy elsewhere behaves like the instruction in its place. `free` is the first address
/// after the jump.
fn movable(instruction: &Instruction, original: &[u8], free: u64) -> Result<(), Obstacle> {
    let at = instruction.ip();
    let returns_early = is_call(instruction) && instruction.next_ip() < free;
    if returns_early {
        return Err(Obstacle::ReturnsIntoJump(at));
    }
    if is_call(instruction) && !is_plain_call(instruction) {
        return Err(Obstacle::OddCall(at));
    }
    let depends_on_place = matches!(
        instruction.flow_control(),
        FlowControl::Interrupt | FlowControl::XbeginXabortXend
    );
    // A far copy of these two would take several instructions; compilers do not generate them.
    if depends_on_place
        || instruction.is_jcx_short()
        || instruction.is_loop()
        || instruction.is_loopcc()
    {
        return Err(Obstacle::Immovable(at));
    }
    let moved = if is_call(instruction) {
        as_jump(instruction)
    } else {
        *instruction
    };
    // Trampolines lie just behind the last segment; an address one gibibyte away represents them.
    let address = at + (1 << 30);
    let code = encode(&moved, original, address)?;
    let copy = Decoder::with_ip(64, &code, address, DecoderOptions::NONE).decode();
    if !is_same(&moved, &copy) {
        return Err(Obstacle::ChangesWhenMoved(at));
    }
    Ok(())
}

/// Whether an instruction is a call of any kind.
pub(crate) fn is_call(instruction: &Instruction) -> bool {
    let flow = instruction.flow_control();
    matches!(flow, FlowControl::Call | FlowControl::IndirectCall)
        && instruction.mnemonic() == Mnemonic::Call
}

fn is_plain_call(call: &Instruction) -> bool {
    let uses_stack = (0..call.op_count()).any(|operand| match call.op_kind(operand) {
        OpKind::Register => call.op_register(operand).full_register() == Register::RSP,
        OpKind::Memory => call.memory_base().full_register() == Register::RSP,
        _ => false,
    });
    matches!(call.code(), Code::Call_rel32_64 | Code::Call_rm64) && !uses_stack
}

/// A call as a jump, which does the rest of the call's work once the return address is pushed.
pub(crate) fn as_jump(call: &Instruction) -> Instruction {
    let mut jump = *call;
    jump.set_code(match call.code() {
        Code::Call_rm64 => Code::Jmp_rm64,
        _ => Code::Jmp_rel32_64,
    });
    jump
}

/// The bytes of `instruction` at `address`: the `original` ones unless their meaning depends on the
/// address.
pub(crate) fn encode(
    instruction: &Instruction,
    original: &[u8],
    address: u64,
) -> Result<Vec<u8>, Obstacle> {
    let is_branch = instruction.op0_kind() == OpKind::NearBranch64;
    if !original.is_empty() && !is_branch && !instruction.is_ip_rel_memory_operand() {
        return Ok(original.into());
    }
    let encoded = match is_branch {
        true => {
            let alone = [*instruction];
            let block = InstructionBlock::new(&alone, address);
            BlockEncoder::encode(64, block, BlockEncoderOptions::NONE)
                .map(|block| block.code_buffer)
        }
        // A block encoder takes the address of an instruction in its block for a label, and
        // changes it. A function may begin by loading its own address.
        false => {
            let mut encoder = Encoder::new(64);
            encoder
                .encode(instruction, address)
                .map(|_| encoder.take_buffer())
        }
    };
    encoded.map_err(|error| Obstacle::NotEncoded {
        at: instruction.ip(),
        error,
    })
}

/// Whether a moved instruction behaves like the original: equal except for the width of a branch.
/// Targets and addresses relative to the instruction are compared by the address that they denote.
pub(crate) fn is_same(original: &Instruction, copy: &Instruction) -> bool {
    let near = |instruction: &Instruction| {
        let mut near = *instruction;
        near.as_near_branch();
        near
    };
    near(original) == near(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_a_moved_instruction_names_stays() {
        // lea 0(%rip), %rax; lea -7(%rip), %rax, which is its own address; cmp -8(%rip), %rdi.
        for code in [
            [0x48, 0x8d, 0x05, 0, 0, 0, 0],
            [0x48, 0x8d, 0x05, 0xf9, 0xff, 0xff, 0xff],
            [0x48, 0x3b, 0x3d, 0xf8, 0xff, 0xff, 0xff],
        ] {
            let decode = |code, at| Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
            let original = decode(&code, 0x1000);
            let moved = encode(&original, &code, 0x9000).unwrap();
            let named = decode(&moved, 0x9000).ip_rel_memory_address();
            assert_eq!(named, original.ip_rel_memory_address());
            movable(&original, &code, 0x1005).unwrap();
        }
    }
}
