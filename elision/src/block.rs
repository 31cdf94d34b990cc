//! The accesses of a code block, found by going through its instructions once.

use crate::access::{Access, Address, Form, MOST_ACCESSES};
use crate::plain;
use crate::registers::{Origin, Place, Registers};
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfo, InstructionInfoFactory, OpAccess,
};

/// What is known of the accesses of a code block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Those of its plain instructions, in program order.
    pub all: Vec<Access>,
    /// Whether nothing is recorded of a run before the first of these that is recorded.
    pub none_before: bool,
}

impl Accesses {
    /// Those of the code block that starts at `start` and has these instructions.
    pub fn of<'b>(start: u64, instructions: impl Iterator<Item = &'b [u8]>) -> Accesses {
        let mut block = Block::new(start);
        let mut factory = InstructionInfoFactory::new();
        let mut address = start;
        for (place, bytes) in instructions.enumerate() {
            let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
            let instruction = decoder.decode();
            address = address.wrapping_add(bytes.len() as u64);
            if instruction.is_invalid() || instruction.len() != bytes.len() {
                block.append_unknown();
            } else {
                let info = factory.info(&instruction);
                block.append(place as u16, &instruction, info);
            }
        }
        block.found
    }

    /// Those of one instruction; none of one that is not plain.
    pub fn of_instruction(&self, instruction: usize) -> impl Iterator<Item = &Access> {
        let place = |access: &Access| usize::from(access.form.instruction);
        let first = self
            .all
            .partition_point(|access| place(access) < instruction);
        let others = self.all[first..].iter();
        others.take_while(move |access| place(access) == instruction)
    }
}

struct Block {
    start: u64,
    registers: Registers,
    found: Accesses,
    /// Those that are recorded: where they are, and their places among all.
    recorded: Vec<(Origin, i64, u16)>,
    /// An instruction has come of which it is not known what accesses it makes.
    is_uncertain: bool,
}

impl Block {
    fn new(start: u64) -> Block {
        Block {
            start,
            registers: Registers::new(),
            found: Accesses::default(),
            recorded: Vec::new(),
            is_uncertain: false,
        }
    }

    /// Goes on behind an instruction that nothing is known of.
    fn append_unknown(&mut self) {
        self.registers.forget_all();
        self.is_uncertain = true;
    }

    fn append(&mut self, place: u16, instruction: &Instruction, info: &InstructionInfo) {
        let memory = info.used_memory();
        let made = plain::accesses(instruction, info);
        let makes_some = |used: &iced_x86::UsedMemory| used.access() != OpAccess::NoMemAccess;
        self.is_uncertain |= made.is_none() && memory.iter().any(makes_some);
        let made = made.unwrap_or_default();
        if self.found.all.len() + made.len() <= MOST_ACCESSES {
            for made in made {
                let at = self.registers.place(&memory[made.operand]);
                let form = Form {
                    instruction: place,
                    size_shift: made.size_shift,
                    store: made.store,
                };
                self.add(form, at);
            }
        }
        self.registers.execute(instruction, info);
    }

    fn add(&mut self, form: Form, place: Option<Place>) {
        let known = place.as_ref().and_then(|place| self.known(place));
        let address = known.unwrap_or(Address::Recorded);
        if address == Address::Recorded {
            self.add_recorded(place);
        }
        self.found.all.push(Access { form, address });
    }

    /// Notes where the access is that is added next, from which others may follow.
    fn add_recorded(&mut self, place: Option<Place>) {
        let is_first = self.found.all.iter().all(Access::is_elided);
        self.found.none_before |= is_first && !self.is_uncertain;
        if let Some(Place {
            origin: Some(origin),
            distance,
        }) = place
        {
            let access = self.found.all.len() as u16;
            self.recorded.push((origin, distance, access));
        }
    }

    /// How an address is known without being recorded.
    fn known(&self, place: &Place) -> Option<Address> {
        let Some(origin) = place.origin else {
            let distance = place.distance.wrapping_sub(self.start.cast_signed());
            return Address::at(distance, Address::FromCode);
        };
        let mut recorded = self.recorded.iter().rev();
        let &(_, from, access) = recorded.find(|recorded| recorded.0 == origin)?;
        let distance = place.distance.wrapping_sub(from);
        Address::at(distance, |distance| Address::From { access, distance })
    }
}

#[cfg(test)]
mod tests;
