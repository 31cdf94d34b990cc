//! Plain instructions: those that make the same loads and stores whenever they run, each in one
//! piece of at most 8 bytes. All others are recorded whatever they do.
//!
//! That is so of these as QEMU translates them (7.2 and 10): a memory operand that is read and
//! written is a load, then a store; a conditional move always loads.

use iced_x86::{Instruction, InstructionInfo, MemorySize, Mnemonic, OpAccess, OpKind};

/// One access of a plain instruction.
pub struct Made {
    /// Which of the instruction's memory operands.
    pub operand: usize,
    /// log2 of the number of bytes.
    pub size_shift: u8,
    /// Load or store.
    pub store: bool,
}

/// The accesses of an instruction in order: loads, then stores. `None` where it is not plain.
pub fn accesses(instruction: &Instruction, info: &InstructionInfo) -> Option<Vec<Made>> {
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

fn size_shift(size: MemorySize) -> Option<u8> {
    match size.size() {
        // The operand of a far jump is read in two pieces.
        _ if size == MemorySize::SegPtr16 => None,
        bytes @ (1 | 2 | 4 | 8) => Some(bytes.trailing_zeros() as u8),
        _ => None,
    }
}

fn is_plain(instruction: &Instruction) -> bool {
    let of_other_kind = |operand| {
        let register = instruction.op_register(operand);
        instruction.op_kind(operand) == OpKind::Register && !register.is_gpr() && !register.is_xmm()
    };
    let addresses = [instruction.memory_base(), instruction.memory_index()];
    !(0..instruction.op_count()).any(of_other_kind)
        && !addresses.iter().any(|register| register.is_gpr32())
        && !instruction.has_lock_prefix()
        && !instruction.has_rep_prefix()
        && !instruction.has_repne_prefix()
        && !instruction.is_string_instruction()
        && is_plain_mnemonic(instruction.mnemonic())
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
