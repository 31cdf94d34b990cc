//! A code block from when the plugin tells of it to when it is written.

use super::code::told_by;
use corehop_traces::{Dependence, Pointer};
use corehop_wire::elision::PlainAccess;

/// Module, address, instruction lengths, dependences and pointers. The module is the one that was
/// there when the block was met: later, but before the block's words are read, another may take its
/// place.
pub type Definition = (Option<usize>, u64, Vec<u8>, (Vec<Dependence>, Vec<Pointer>));

/// What becomes a definition when the block is first executed: of a machine most never are.
#[derive(Clone)]
pub struct Met {
    pub module: Option<usize>,
    pub start: u64,
    pub instruction_sizes: Vec<u8>,
    pub code: Vec<u8>,
}

/// What is known of a code block.
pub struct Block {
    pub number: Number,
    pub start: u64,
    pub instructions: usize,
    pub accesses: Box<[PlainAccess]>,
}

/// What a code block is to the writer.
#[derive(Clone)]
pub enum Number {
    /// Nothing yet.
    Defined(Met),
    Written(u32),
}

impl Block {
    /// One that was met, and makes these accesses, as the plugin encodes them.
    pub fn new(met: Met, accesses: &[u64]) -> Block {
        let accesses = accesses.iter();
        let accesses = accesses.map_while(|&access| PlainAccess::decode(access));
        Block {
            start: met.start,
            instructions: met.instruction_sizes.len(),
            accesses: accesses.collect(),
            number: Number::Defined(met),
        }
    }
}

impl Met {
    /// The block as the trace defines it.
    pub fn definition(self) -> Definition {
        let told = told_by(self.start, &self.instruction_sizes, &self.code);
        (self.module, self.start, self.instruction_sizes, told)
    }
}
