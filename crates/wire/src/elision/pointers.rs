//! Pointers: what a code block does with the initial values of its registers.
//!
//! A trace contains the addresses of accesses but not register values. If an instruction accesses
//! memory at a known distance from a register, the address minus the distance is the register's
//! value. This finds, in one pass over a block, for each register the first access that reveals its
//! initial value. It also finds the registers that contain that value, or a known distance from it,
//! at the end of the block. A caller that follows a thread from block to block can derive the
//! values at a function entry: the function's arguments.
//!
//! The result is exact. A value is lost if it involves more than adding constants. All values are
//! lost at a system call, whose return may be that of a signal handler. An access counts if its
//! instruction always makes it. The stack pointer is omitted.

use crate::elision::access::Address;
use crate::elision::plain;
use crate::elision::registers::Registers;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory,
    Mnemonic,
};

/// One use of a general register's initial value by a code block. Registers are numbered as in
/// x86's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointer {
    /// The first access of the instruction is at `distance` from the initial value of `register`.
    Accessed {
        /// The instruction's index in the block.
        instruction: u16,
        /// The register.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end, register `at_end` contains the initial value of `register` plus `distance`.
    Held {
        /// The register at the end.
        at_end: u8,
        /// The register at the beginning.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end, this register contains an unrelated value.
    Lost {
        /// The register at the end.
        at_end: u8,
    },
}

/// Finds the pointers of the code block at `start` with these instructions. First the accesses in
/// order, one per register; then the registers with a changed but known value; then the lost ones.
pub fn pointers<'b>(start: u64, instructions: impl Iterator<Item = &'b [u8]>) -> Vec<Pointer> {
    let mut found = Found {
        registers: Registers::new(),
        accesses: Vec::new(),
        told: 1 << RSP,
    };
    let mut factory = InstructionInfoFactory::new();
    let mut address = start;
    for (place, bytes) in (0..).zip(instructions) {
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        address = address.wrapping_add(bytes.len() as u64);
        if instruction.is_invalid() || instruction.len() != bytes.len() {
            found.registers.forget_all();
        } else {
            found.execute(place, &instruction, factory.info(&instruction));
        }
    }
    found.finish()
}

const GENERAL: u8 = 16;
const RSP: u8 = 4;

struct Found {
    registers: Registers,
    accesses: Vec<Pointer>,
    /// One bit for each register whose initial value an access reveals.
    told: u16,
}

impl Found {
    fn execute(&mut self, place: u16, instruction: &Instruction, info: &InstructionInfo) {
        // The first access of a 16-byte move is at its address, in pieces or not.
        let made = plain::accesses(instruction, info, true).unwrap_or_default();
        if let Some(first) = made.first()
            && made.iter().all(|one| one.operand == first.operand)
            && let Some(at) = self.registers.place(&info.used_memory()[first.operand])
            && let Some(register) = at.origin.and_then(|origin| origin.register())
            && self.told >> register & 1 == 0
            && can_be_told(at.distance)
        {
            self.told |= 1 << register;
            self.accesses.push(Pointer::Accessed {
                instruction: place,
                register,
                distance: at.distance,
            });
        }
        let is_interrupt = instruction.flow_control() == FlowControl::Interrupt;
        match instruction.mnemonic() {
            Mnemonic::Syscall | Mnemonic::Sysenter => self.registers.forget_all(),
            _ if is_interrupt => self.registers.forget_all(),
            _ => self.registers.execute(instruction, info),
        }
    }

    fn finish(self) -> Vec<Pointer> {
        let mut all = self.accesses;
        let registers = || (0..GENERAL).filter(|&at_end| at_end != RSP);
        let held = |at_end| {
            let held = self.registers.holds(at_end)?;
            (held.0 != RSP && can_be_told(held.1)).then_some(held)
        };
        all.extend(registers().filter_map(|at_end| {
            let (register, distance) = held(at_end)?;
            let is_other = (register, distance) != (at_end, 0);
            is_other.then_some(Pointer::Held {
                at_end,
                register,
                distance,
            })
        }));
        let lost = registers().filter(|&at_end| held(at_end).is_none());
        all.extend(lost.map(|at_end| Pointer::Lost { at_end }));
        all
    }
}

fn can_be_told(distance: i64) -> bool {
    Address::at(distance, Address::FromCode).is_some()
}

#[cfg(test)]
mod tests;
