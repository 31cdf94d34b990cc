//! Finds the accesses of a code block in one pass over its instructions.

use crate::elision::access::{AccessForm, Address, MOST_ACCESSES, PlainAccess};
use crate::elision::plain::{self, Made};
use crate::elision::registers::{Origin, Registers, RelativeAddress};
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfo, InstructionInfoFactory, OpAccess,
    UsedMemory,
};

/// The known accesses of a code block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockAccesses {
    /// The accesses of its plain instructions, in program order.
    pub all: Vec<PlainAccess>,
    /// Whether the first recorded access of an execution is always the first recorded one of these.
    pub none_before: bool,
}

impl BlockAccesses {
    /// Finds the accesses of the code block at `start` with these instructions. `in_pieces` means
    /// that QEMU moves 16 and 32 bytes in pieces of 8, as version 7 does; otherwise such moves are
    /// not plain.
    pub fn of<'b>(
        start: u64,
        instructions: impl Iterator<Item = &'b [u8]>,
        in_pieces: bool,
    ) -> BlockAccesses {
        let mut block = Block::new(start, in_pieces);
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

    /// Returns the accesses of one instruction; none if it is not plain.
    pub fn of_instruction(&self, instruction: usize) -> impl Iterator<Item = &PlainAccess> {
        let place = |access: &PlainAccess| usize::from(access.form.instruction);
        let first = self
            .all
            .partition_point(|access| place(access) < instruction);
        let others = self.all[first..].iter();
        others.take_while(move |access| place(access) == instruction)
    }
}

struct Block {
    start: u64,
    in_pieces: bool,
    registers: Registers,
    found: BlockAccesses,
    /// The recorded accesses: origin, distance, and index among all.
    recorded: Vec<(Origin, i64, u16)>,
    /// Whether an earlier instruction makes unknown accesses.
    is_uncertain: bool,
}

impl Block {
    fn new(start: u64, in_pieces: bool) -> Block {
        Block {
            start,
            in_pieces,
            registers: Registers::new(),
            found: BlockAccesses::default(),
            recorded: Vec::new(),
            is_uncertain: false,
        }
    }

    /// Continues after an unknown instruction.
    fn append_unknown(&mut self) {
        self.registers.forget_all();
        self.is_uncertain = true;
    }

    fn append(&mut self, place: u16, instruction: &Instruction, info: &InstructionInfo) {
        let memory = info.used_memory();
        let fits = |made: &Vec<Made>| self.found.all.len() + made.len() <= MOST_ACCESSES;
        let made = plain::accesses(instruction, info, self.in_pieces).filter(fits);
        let makes_some = |used: &UsedMemory| used.access() != OpAccess::NoMemAccess;
        self.is_uncertain |= made.is_none() && memory.iter().any(makes_some);
        self.add_all(place, memory, &made.unwrap_or_default());
        self.registers.execute(instruction, info);
    }

    /// Adds the accesses of the instruction at `place`.
    fn add_all(&mut self, place: u16, memory: &[UsedMemory], made: &[Made]) {
        let place_of = |made: &Made| {
            let place = self.registers.place(&memory[made.operand])?;
            let distance = place.distance.wrapping_add(made.offset);
            Some(RelativeAddress { distance, ..place })
        };
        let places: Vec<_> = made.iter().map(place_of).collect();
        let is_known = |place: &Option<RelativeAddress>| {
            let place = place.as_ref();
            place.is_some_and(|place| self.known(place).is_some())
        };
        // One callback handles all pieces of a move, so either all or none are recorded.
        let is_in_pieces = made.len() > 1 && made.iter().all(|one| one.store == made[0].store);
        let may_elide = !is_in_pieces || places.iter().all(is_known);
        for (made, at) in made.iter().zip(places) {
            let form = AccessForm {
                instruction: place,
                size_shift: made.size_shift,
                store: made.store,
            };
            self.add(form, at, may_elide);
        }
    }

    fn add(&mut self, form: AccessForm, place: Option<RelativeAddress>, may_elide: bool) {
        let known = place.as_ref().filter(|_| may_elide);
        let known = known.and_then(|place| self.known(place));
        let address = known.unwrap_or(Address::Recorded);
        if address == Address::Recorded {
            self.add_recorded(place);
        }
        self.found.all.push(PlainAccess { form, address });
    }

    /// Registers the address of the access added next, so that others can refer to it.
    fn add_recorded(&mut self, place: Option<RelativeAddress>) {
        let is_first = self.found.all.iter().all(PlainAccess::is_elided);
        self.found.none_before |= is_first && !self.is_uncertain;
        if let Some(RelativeAddress {
            origin: Some(origin),
            distance,
        }) = place
        {
            let access = self.found.all.len() as u16;
            self.recorded.push((origin, distance, access));
        }
    }

    /// Returns how an address is determined without being recorded, if it is.
    fn known(&self, place: &RelativeAddress) -> Option<Address> {
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
