//! Plain instructions: those that always make the same loads and stores, each in one piece of at
//! most 8 bytes. All other instructions are recorded completely.
//!
//! This refers to QEMU's translation (7.2 and 10). A memory operand that is read and written is a
//! load, then a store; a conditional move always loads. QEMU 7 moves 16 and 32 bytes in pieces of
//! 8, lowest first (gen_ldo_env_A0 and gen_ldy_env_A0 in its target/i386/tcg/translate.c).

use iced_x86::{
    EncodingKind, Instruction, InstructionInfo, MemorySize, Mnemonic, OpAccess, OpKind,
};

/// One access of a plain instruction.
pub struct Made {
    /// Index of the instruction's memory operand.
    pub operand: usize,
    /// Distance from the operand's address.
    pub offset: i64,
    /// log2 of the number of bytes.
    pub size_shift: u8,
    /// Load or store.
    pub store: bool,
}

/// Returns the accesses of an instruction in order: loads, then stores. `None` if it is not plain.
/// `in_pieces` means that QEMU moves 16 and 32 bytes in pieces of 8.
pub fn accesses(
    instruction: &Instruction,
    info: &InstructionInfo,
    in_pieces: bool,
) -> Option<Vec<Made>> {
    if in_pieces && let Some(pieces) = pieces(instruction, info) {
        return Some(pieces);
    }
    let mut made = Vec::new();
    for store in [false, true] {
        for (operand, used) in info.used_memory().iter().enumerate() {
            let is_made = match used.access() {
                OpAccess::Read => !store,
                OpAccess::Write => store,
                OpAccess::ReadWrite => true,
                // LEA has such an operand.
                OpAccess::NoMemAccess => false,
                _ => return None,
            };
            if is_made {
                let size_shift = size_shift(used.memory_size())?;
                made.push(Made {
                    operand,
                    offset: 0,
                    size_shift,
                    store,
                });
            }
        }
    }
    let of_kind = |store| made.iter().filter(|made| made.store == store).count();
    let is_plain = made.is_empty() || is_plain(instruction);
    (is_plain && of_kind(false) <= 1 && of_kind(true) <= 1).then_some(made)
}

/// Returns the accesses of a move of 16 or 32 bytes from or to memory.
fn pieces(instruction: &Instruction, info: &InstructionInfo) -> Option<Vec<Made>> {
    use Mnemonic as M;
    let moves = matches!(
        instruction.mnemonic(),
        M::Movups | M::Movaps | M::Movupd | M::Movapd | M::Movdqu | M::Movdqa
    ) || matches!(
        instruction.mnemonic(),
        M::Vmovups | M::Vmovaps | M::Vmovupd | M::Vmovapd | M::Vmovdqu | M::Vmovdqa
    );
    let [used] = info.used_memory() else {
        return None;
    };
    let store = match used.access() {
        OpAccess::Read => false,
        OpAccess::Write => true,
        _ => return None,
    };
    let bytes = used.memory_size().size();
    let is_plain = moves && matches!(bytes, 16 | 32) && has_plain_operands(instruction);
    let offsets = (0..bytes as i64).step_by(8);
    let piece = |offset| Made {
        operand: 0,
        offset,
        size_shift: 3,
        store,
    };
    is_plain.then(|| offsets.map(piece).collect())
}

fn size_shift(size: MemorySize) -> Option<u8> {
    match size.size() {
        // The operand of a far jump is read in two pieces.
        _ if size == MemorySize::SegPtr16 => None,
        bytes @ (1 | 2 | 4 | 8) => Some(bytes.trailing_zeros() as u8),
        _ => None,
    }
}

fn is_plain(instruction: &Instruction) -> bool {
    has_plain_operands(instruction) && is_plain_mnemonic(instruction.mnemonic())
}

fn has_plain_operands(instruction: &Instruction) -> bool {
    let of_other_kind = |operand| {
        let register = instruction.op_register(operand);
        let is_usual = register.is_gpr() || register.is_xmm() || register.is_ymm();
        instruction.op_kind(operand) == OpKind::Register && !is_usual
    };
    let addresses = [instruction.memory_base(), instruction.memory_index()];
    !(0..instruction.op_count()).any(of_other_kind)
        && !addresses.iter().any(|register| register.is_gpr32())
        && instruction.encoding() != EncodingKind::EVEX
        && !instruction.has_lock_prefix()
        && !instruction.has_rep_prefix()
        && !instruction.has_repne_prefix()
        && !instruction.is_string_instruction()
}

fn is_plain_mnemonic(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    let moves = matches!(
        mnemonic,
        M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Movss | M::Movsd | M::Movd | M::Movq
    );
    let stack = matches!(mnemonic, M::Push | M::Pop | M::Call | M::Ret | M::Leave);
    let computes = matches!(
        mnemonic,
        M::Add | M::Adc | M::Sub | M::Sbb | M::And | M::Or | M::Xor | M::Cmp | M::Test | M::Imul
    ) || matches!(mnemonic, M::Inc | M::Dec | M::Neg | M::Not | M::Jmp);
    let moves_on_condition = matches!(
        mnemonic,
        M::Cmova | M::Cmovae | M::Cmovb | M::Cmovbe | M::Cmove | M::Cmovg | M::Cmovge | M::Cmovl
    ) || matches!(
        mnemonic,
        M::Cmovle | M::Cmovne | M::Cmovno | M::Cmovnp | M::Cmovns | M::Cmovo | M::Cmovp | M::Cmovs
    );
    let sets = matches!(
        mnemonic,
        M::Seta | M::Setae | M::Setb | M::Setbe | M::Sete | M::Setg | M::Setge | M::Setl
    ) || matches!(
        mnemonic,
        M::Setle | M::Setne | M::Setno | M::Setnp | M::Setns | M::Seto | M::Setp | M::Sets
    );
    moves || stack || computes || moves_on_condition || sets
}
