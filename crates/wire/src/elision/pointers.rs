//! Pointers: what a code block does with what its registers hold when it begins.
//!
//! A trace holds the addresses of accesses and not what registers hold. But where an instruction
//! accesses memory at a known distance from a register, the address less the distance is what the
//! register held. So this finds, by going through a block once, for each register the first access
//! that tells it, and which registers hold it, or something at a known distance from it, when the
//! block ends. Whoever follows a thread from block to block so learns what it held when it entered
//! a function: the function's arguments.
//!
//! All of this is exact. What is not a matter of adding constants is lost, as is everything at a
//! system call, whose return may be that of a signal handler. An access counts if it is made
//! whenever its instruction runs. The stack pointer is left out.

use crate::elision::access::Address;
use crate::elision::plain;
use crate::elision::registers::Registers;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory,
    Mnemonic,
};

/// One thing that a code block does with what a general register holds when it begins. Registers
/// are numbered as in x86's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointer {
    /// The first access of the instruction at this place is at `distance` from what `register`
    /// held.
    Accessed {
        /// The instruction's place in the block.
        instruction: u16,
        /// The register.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end this register holds what is at `distance` from what `register` held.
    Held {
        /// The register at the end.
        at_end: u8,
        /// The register at the beginning.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end this register holds something else.
    Lost {
        /// The register at the end.
        at_end: u8,
    },
}

/// Those of the code block that starts at `start` and has these instructions: accesses in order,
/// one a register, then for each register that does not hold what it held what it holds, then those
/// that are lost.
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
    /// A bit for each register that an access has told.
    told: u16,
}

impl Found {
    fn execute(&mut self, place: u16, instruction: &Instruction, info: &InstructionInfo) {
        // Moves of 16 bytes are at their address, in pieces or not.
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
