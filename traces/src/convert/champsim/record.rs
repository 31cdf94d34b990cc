//! One record, and the kind of branch that its registers imply.

use crate::convert::error::{Fault, damage};

/// Size of a record in bytes: `sizeof(input_instr)`.
pub(super) const RECORD_BYTES: usize = 64;

/// `REG_STACK_POINTER`, `REG_FLAGS`, and `REG_INSTRUCTION_POINTER`; 0 means no register.
const STACK_POINTER: u8 = 6;
const FLAGS: u8 = 25;
const INSTRUCTION_POINTER: u8 = 26;

/// An executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) address: u64,
    is_taken: bool,
    written: [u8; 2],
    read: [u8; 4],
    /// 0 means none, as in `loads`.
    pub(super) stores: [u64; 2],
    pub(super) loads: [u64; 4],
}

/// An instruction's effect on the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Branch {
    /// Not a branch.
    No,
    Call,
    /// A jump to an address in a register or in memory.
    IndirectJump,
    Conditional,
    /// A kind unknown to `ChampSim`; taken or not.
    Other,
    /// A direct jump, which loads nothing, or a jump through memory at an address relative to the
    /// instruction, as in the stub of a procedure linkage table.
    Jump,
    Return,
}

impl Branch {
    /// Returns whether the next executed instruction is not the adjacent one.
    pub(super) fn is_taken(self, record: &Record) -> bool {
        match self {
            Branch::No => false,
            Branch::Conditional | Branch::Other => record.is_taken,
            Branch::Call | Branch::IndirectJump | Branch::Jump | Branch::Return => true,
        }
    }
}

impl Record {
    pub(super) fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<Record, Fault> {
        let word = |place: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[place..place + 8]);
            u64::from_le_bytes(word)
        };
        let record = Record {
            address: word(0),
            is_taken: bytes[9] == 1,
            written: [bytes[10], bytes[11]],
            read: [bytes[12], bytes[13], bytes[14], bytes[15]],
            stores: [16, 24].map(word),
            loads: [32, 40, 48, 56].map(word),
        };
        match bytes[8..10] {
            [0 | 1, 0 | 1] => {}
            [0 | 1, is_taken] => return no_flag("branch_taken", is_taken),
            _ => return no_flag("is_branch", bytes[8]),
        }
        if record.address == 0 {
            return damage("an instruction at address 0: no record of ChampSim's input_instr");
        }
        Ok(record)
    }

    /// Returns the kind of branch, from the registers alone.
    pub(super) fn branch(&self) -> Branch {
        let writes = |register| self.written.contains(&register);
        let reads = |register| self.read.contains(&register);
        let special = [0, STACK_POINTER, FLAGS, INSTRUCTION_POINTER];
        let reads_other = self.read.iter().any(|of| !special.contains(of));
        if !writes(INSTRUCTION_POINTER) {
            return Branch::No;
        }
        let (of_stack, of_flags) = (reads(STACK_POINTER), reads(FLAGS));
        let of_pointer = reads(INSTRUCTION_POINTER);
        let pushes = of_stack && writes(STACK_POINTER);
        match (of_stack, of_pointer) {
            (false, _) if !of_flags && !reads_other => Branch::Jump,
            (false, false) if !of_flags => Branch::IndirectJump,
            (false, true) if !writes(STACK_POINTER) => Branch::Conditional,
            (true, true) if pushes && !of_flags => Branch::Call,
            (true, false) if pushes => Branch::Return,
            _ => Branch::Other,
        }
    }
}

/// Creates the error for a flag that is neither 0 nor 1, which no tracer writes.
fn no_flag<T>(name: &str, value: u8) -> Result<T, Fault> {
    damage(format!(
        "{name} is {value}, not 0 or 1: no record of ChampSim's input_instr"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(written: [u8; 2], read: [u8; 4]) -> Branch {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0] = 1;
        bytes[10..12].copy_from_slice(&written);
        bytes[12..16].copy_from_slice(&read);
        Record::decode(&bytes).unwrap().branch()
    }

    #[test]
    fn registers_tell_the_kinds_of_branches() {
        const SP: u8 = STACK_POINTER;
        const IP: u8 = INSTRUCTION_POINTER;
        for (written, read, kind) in [
            ([3, 0], [4, 25, 0, 0], Branch::No),
            ([SP, 0], [SP, IP, 0, 0], Branch::No),
            ([IP, 0], [IP, 0, 0, 0], Branch::Jump),
            ([IP, 0], [0, 0, 0, 0], Branch::Jump),
            ([IP, 0], [11, 0, 0, 0], Branch::IndirectJump),
            ([IP, 0], [IP, FLAGS, 0, 0], Branch::Conditional),
            ([IP, 0], [IP, 5, 0, 0], Branch::Conditional),
            ([IP, SP], [IP, SP, 0, 0], Branch::Call),
            ([SP, IP], [SP, 9, IP, 0], Branch::Call),
            ([IP, SP], [SP, 0, 0, 0], Branch::Return),
            ([IP, 0], [FLAGS, 0, 0, 0], Branch::Other),
            ([IP, SP], [IP, SP, FLAGS, 0], Branch::Other),
            ([IP, 0], [IP, SP, 0, 0], Branch::Other),
            ([IP, SP], [IP, 4, 0, 0], Branch::Other),
        ] {
            assert_eq!(branch(written, read), kind, "{written:?} {read:?}");
        }
    }
}
