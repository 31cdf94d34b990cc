//! Definitions that executions refer to: modules, functions, code blocks and templates. Each is
//! written before anything that refers to it.
//!
//! Many are collected into one entry, because they compress together. Pending definitions are
//! written before each chunk.

use super::{Writer, unrecordable};
use crate::codec::template::{DataAccess, Size, check_code_block, check_template, fetches_of};
use crate::format::definition::{MAX_DEFINITIONS, MAX_DETAILS};
use crate::model::error::Error;
use crate::model::ids::FunctionId;
use crate::model::program::{CodeBlock, Function, Module};
use crate::write::sink::NewEntry;

impl Writer {
    /// Adds a module; returns its index.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] for a range that ends before it starts; [`Error::Write`].
    pub fn module(&mut self, module: &Module) -> Result<u32, Error> {
        if module.start > module.end {
            return unrecordable(format!("{} ends before it starts", module.path));
        }
        self.sink.write(NewEntry::Module(module.clone()))?;
        self.modules += 1;
        Ok(self.modules - 1)
    }

    /// Adds a function.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if its module does not exist or a text contains a zero byte;
    /// [`Error::Write`].
    pub fn function(&mut self, function: &Function) -> Result<FunctionId, Error> {
        if function.module >= self.modules {
            return unrecordable(format!("{} is in no known module", function.symbol));
        }
        let reason = function.unpatchable.as_deref().unwrap_or("");
        if [&function.symbol, &function.name, reason]
            .iter()
            .any(|text| text.contains('\0'))
        {
            return unrecordable(format!("a zero byte in the name {:?}", function.symbol));
        }
        let text_bytes = function.symbol.len() + function.name.len() + reason.len() + 5;
        if text_bytes > MAX_DETAILS / 2 {
            return unrecordable(format!("a function's name of {text_bytes} bytes"));
        }
        self.new_details += text_bytes;
        self.new_functions.push(function.clone());
        self.functions += 1;
        self.write_many_definitions()?;
        Ok(FunctionId(self.functions - 1))
    }

    /// Adds a code block, and the function whose entry it starts at, if any; returns its index.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if the block has no instructions, more than 512, or a gap between
    /// them. Also if its dependences or pointers are invalid, or the function does not exist.
    /// [`Error::Write`].
    pub fn code_block(
        &mut self,
        block: &CodeBlock,
        entry: Option<FunctionId>,
    ) -> Result<u32, Error> {
        check_code_block(block)?;
        if let Some(entry) = entry.filter(|&entry| entry.0 >= self.functions) {
            return unrecordable(format!("there is no function {entry} to enter"));
        }
        self.new_details += block.dependences.len() + block.pointers.len();
        self.new_blocks.push((block.clone(), entry));
        self.instructions.push(block.instructions.len() as u16);
        self.fetches.push(fetches_of(block) as u16);
        self.write_many_definitions()?;
        Ok(self.instructions.len() as u32 - 1)
    }

    /// Adds a template, the data accesses of one execution of a code block, if it is new; returns
    /// its index. The accesses are in program order.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such code block, the block has no such instruction,
    /// or the accesses are out of program order or more than 65 000; [`Error::Write`].
    pub fn template(&mut self, code_block: u32, accesses: &[DataAccess]) -> Result<u32, Error> {
        let Some(&instructions) = self.instructions.get(code_block as usize) else {
            return unrecordable(format!("there is no code block {code_block}"));
        };
        check_template(usize::from(instructions), accesses)?;
        self.intern(code_block, accesses)
    }

    /// Returns the number of a well-formed template, and adds it if it is new.
    pub(super) fn intern(
        &mut self,
        code_block: u32,
        accesses: &[DataAccess],
    ) -> Result<u32, Error> {
        let (template, new) = self.interner.number(code_block, accesses);
        if new {
            self.sizes.push(Size {
                data: accesses.len() as u16,
                fetches: self.fetches[code_block as usize],
            });
            self.new_details += accesses.len();
            self.new_templates.push((code_block, accesses.to_vec()));
            self.write_many_definitions()?;
        }
        Ok(template)
    }

    /// Writes the pending definitions in an order in which everything is defined before it is used.
    pub(super) fn write_definitions(&mut self) -> Result<(), Error> {
        self.new_details = 0;
        self.write_mappings()?;
        if !self.new_functions.is_empty() {
            let functions = std::mem::take(&mut self.new_functions);
            self.sink.write(NewEntry::Functions(functions))?;
        }
        if !self.new_blocks.is_empty() {
            let blocks = std::mem::take(&mut self.new_blocks);
            self.sink.write(NewEntry::CodeBlocks(blocks))?;
        }
        if !self.new_templates.is_empty() {
            let templates = std::mem::take(&mut self.new_templates);
            self.sink.write(NewEntry::Shapes(templates))?;
        }
        Ok(())
    }

    /// Writes the pending definitions if there are enough for an entry.
    pub(super) fn write_many_definitions(&mut self) -> Result<(), Error> {
        let counts = [
            self.new_functions.len(),
            self.new_blocks.len(),
            self.new_templates.len(),
        ];
        // Each definition adds at most half of the maximum, so the maximum is never exceeded.
        if counts.contains(&MAX_DEFINITIONS) || self.new_details > MAX_DETAILS / 2 {
            self.write_definitions()?;
        }
        Ok(())
    }
}
