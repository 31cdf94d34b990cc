//! The functions of a trace: what its calls enter.
//!
//! Formats tell calls from other branches, so what a thread executes next is a function's first
//! instruction. So is what the stub of a procedure linkage table jumps to: its jump is the first or
//! second instruction behind the call. A call of the instruction right behind it only asks where it
//! is. A function is known from its first call on: the code blocks that begin there before are no
//! entries of it.
//!
//! A function is called by the symbol table of its file, where that is at hand, or by DynamoRIO's
//! list of functions; else by the module and its place there, where the modules are known; else by
//! its address.

use super::assembler::Assembler;
use super::drmemtrace::{Program, ProgramModule, unknown_build};
use super::error::Fault;
use crate::{Function, FunctionId, Module};
use std::collections::HashMap;

/// As many instructions as a stub has before it jumps.
const LONGEST_STUB: u8 = 2;

/// What the file is called that holds code of no known module.
const NO_MODULE: &str = "(unknown)";

/// What executes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::convert) enum Flow {
    /// The instruction behind it: it is no branch.
    On,
    /// What it calls.
    Call,
    /// What it jumps to, by a register or memory.
    IndirectJump,
    /// Whatever another branch leads to.
    Branch,
}

/// Where a thread is behind a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::convert) enum Calling {
    /// In no call, or further in it.
    #[default]
    No,
    /// The next instruction is a function's first.
    Enters,
    /// So many instructions behind the first one of a function that may be a stub.
    MayBeStub(u8),
}

impl Calling {
    /// Behind one more instruction, which is a function's first or is not.
    pub(in crate::convert) fn after(self, flow: Flow, is_entry: bool) -> Calling {
        let behind = match self {
            Calling::Enters if is_entry => 1,
            Calling::MayBeStub(behind) => behind + 1,
            _ => LONGEST_STUB + 1,
        };
        match flow {
            Flow::Call => Calling::Enters,
            Flow::IndirectJump if behind <= LONGEST_STUB => Calling::Enters,
            Flow::On if behind < LONGEST_STUB => Calling::MayBeStub(behind),
            _ => Calling::No,
        }
    }
}

/// The functions that were entered.
pub(in crate::convert) struct Functions<'p> {
    program: &'p Program,
    /// By process and address.
    known: HashMap<(u32, u64), FunctionId>,
    /// The trace's numbers of the program's modules.
    modules: HashMap<usize, u32>,
    /// The module of code that is in none.
    no_module: Option<u32>,
}

impl Functions<'_> {
    pub(in crate::convert) fn of(program: &Program) -> Functions<'_> {
        Functions {
            program,
            known: HashMap::new(),
            modules: HashMap::new(),
            no_module: None,
        }
    }

    /// The function of the process that begins at this address, if it is known.
    pub(in crate::convert) fn at(&self, process: u32, address: u64) -> Option<FunctionId> {
        self.known.get(&(process, address)).copied()
    }

    /// The function of the process that was called at this address.
    pub(in crate::convert) fn called(
        &mut self,
        process: u32,
        address: u64,
        assembler: &mut Assembler,
    ) -> Result<FunctionId, Fault> {
        if let Some(known) = self.at(process, address) {
            return Ok(known);
        }
        let function = self.describe(address, assembler)?;
        let function = assembler.function(&function)?;
        self.known.insert((process, address), function);
        Ok(function)
    }

    fn describe(&mut self, address: u64, assembler: &mut Assembler) -> Result<Function, Fault> {
        let Some((number, of)) = self.program.module_at(address) else {
            let symbol = self.program.listed(address);
            let symbol = symbol.map_or_else(|| format!("{address:#x}"), str::to_owned);
            return Ok(Function {
                module: self.no_module(assembler)?,
                offset: address,
                size_bytes: 0,
                name: symbol.clone(),
                symbol,
                unpatchable: None,
            });
        };
        let module = match self.modules.get(&number) {
            Some(&module) => module,
            None => {
                let module = assembler.module(&of.module)?;
                self.modules.insert(number, module);
                module
            }
        };
        let offset = address.wrapping_sub(of.module.load_bias);
        if let Some(symbol) = of.function_at(offset) {
            return Ok(Function {
                module,
                offset,
                size_bytes: symbol.size_bytes,
                symbol: symbol.symbol.clone(),
                name: symbol.name.clone(),
                unpatchable: None,
            });
        }
        let symbol = match self.program.listed(address) {
            Some(symbol) => symbol.to_owned(),
            None => name_in(of, offset),
        };
        Ok(Function {
            module,
            offset,
            size_bytes: 0,
            name: symbol.clone(),
            symbol,
            unpatchable: None,
        })
    }

    fn no_module(&mut self, assembler: &mut Assembler) -> Result<u32, Fault> {
        if let Some(module) = self.no_module {
            return Ok(module);
        }
        let module = assembler.module(&Module {
            path: NO_MODULE.into(),
            build_id: unknown_build(NO_MODULE),
            load_bias: 0,
            start: 0,
            end: u64::MAX,
        })?;
        self.no_module = Some(module);
        Ok(module)
    }
}

/// The module's name without its folder, and the place.
fn name_in(of: &ProgramModule, offset: u64) -> String {
    let path = &of.module.path;
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("{name}+{offset:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread is about to do behind these instructions, of which the first is a call.
    fn behind(flows: &[Flow]) -> Calling {
        let mut calling = Calling::No;
        for &flow in flows {
            calling = calling.after(flow, calling == Calling::Enters);
        }
        calling
    }

    #[test]
    fn what_follows_a_call_and_a_stubs_jump_is_entered() {
        const CALL: Flow = Flow::Call;
        const JUMP: Flow = Flow::IndirectJump;
        const OTHER: Flow = Flow::On;
        for entered in [
            &[CALL][..],
            &[CALL, JUMP],
            &[CALL, OTHER, JUMP],
            &[CALL, JUMP, JUMP],
        ] {
            assert_eq!(behind(entered), Calling::Enters, "{entered:?}");
        }
        for not in [
            &[OTHER][..],
            &[JUMP],
            &[CALL, OTHER, OTHER, JUMP],
            &[CALL, OTHER, OTHER],
        ] {
            assert_eq!(behind(not), Calling::No, "{not:?}");
        }
    }
}
