//! Functions that a file calls but does not contain, by the stubs through which it calls them.
//!
//! A linker makes a stub for each, in the procedure linkage table: one jump to the address of the
//! function, which the loader has stored. So a stub is code of the file itself. Each direct call
//! that the file makes enters it once, with the caller's return address on top of the stack. A
//! relocation for the slot through which the stub jumps gives the function's name. Slots are looked
//! up rather than counted, because linkers order stubs freely and generate several forms: with or
//! without `endbr64` and `bnd`, in `.plt`, `.plt.sec` and `.plt.got`.

use super::Image;
use super::abi::{DT_STRTAB, DT_SYMTAB, PF_X, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, SYMBOL_SIZE};
use super::bytes::{text_at, u16_at, u32_at};
use super::relocations::entries;
use crate::Error;
use corehop_support::whole_file;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Stubs begin at multiples of this.
const STEP: usize = 8;

/// A stub of the procedure linkage table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stub {
    /// Virtual address just behind its jump.
    pub end: u64,
    /// Where the loader puts the function's address.
    pub slot: u64,
    /// The function's linker symbol.
    pub imported: String,
}

/// The functions that a file uses and does not define, called by a stub or otherwise.
pub struct Imports {
    build_id: Option<String>,
    functions: HashSet<String>,
}

impl Imports {
    /// Those of the file at `path`.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Input`] for the file.
    pub fn of(path: &Path) -> Result<Imports, Error> {
        let bytes = whole_file::bytes(path).map_err(Error::reading(path))?;
        let image = Image::new(bytes, path)?;
        let functions = slots(&image).into_values().collect();
        Ok(Imports {
            build_id: image.build_id,
            functions,
        })
    }

    /// The file's GNU build id.
    pub fn build_id(&self) -> Option<&str> {
        self.build_id.as_deref()
    }

    /// Whether this function is among them.
    pub fn has(&self, function: &str) -> bool {
        self.functions.contains(function)
    }
}

/// All stubs of functions that the file does not define, by address.
pub(crate) fn stubs(image: &Image) -> BTreeMap<u64, Stub> {
    let slots = slots(image);
    let tables = image.sections.iter();
    let tables = tables.filter(|section| section.name.starts_with(".plt"));
    let mut found = BTreeMap::new();
    for table in tables {
        let is_code = image
            .segment_at(table.address)
            .is_some_and(|segment| segment.is_loaded(PF_X));
        let code = image.contents(table).filter(|_| is_code);
        let code = code.unwrap_or_default();
        for at in (0..code.len()).step_by(STEP) {
            let address = table.address.wrapping_add(at as u64);
            if let Some((end, slot)) = jump_at(&code[at..], address)
                && let Some(imported) = slots.get(&slot)
            {
                let imported = imported.clone();
                found.insert(
                    address,
                    Stub {
                        end,
                        slot,
                        imported,
                    },
                );
            }
        }
    }
    found
}

/// The end of the jump with which the code begins, and the slot through which it jumps.
fn jump_at(code: &[u8], address: u64) -> Option<(u64, u64)> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = decoder.decode();
    if instruction.mnemonic() == Mnemonic::Endbr64 {
        instruction = decoder.decode();
    }
    let is_jump = instruction.flow_control() == FlowControl::IndirectBranch
        && instruction.mnemonic() == Mnemonic::Jmp
        && instruction.is_ip_rel_memory_operand();
    is_jump.then(|| (instruction.next_ip(), instruction.ip_rel_memory_address()))
}

/// Undefined symbols by the slots that the loader fills with their addresses.
fn slots(image: &Image) -> HashMap<u64, String> {
    let table = |tag| {
        let address = image.dynamic_value(tag);
        address.and_then(|address| image.bytes_at(address))
    };
    let (Some(symbols), Some(names)) = (table(DT_SYMTAB), table(DT_STRTAB)) else {
        return HashMap::new();
    };
    let kinds = [R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT];
    let filled = entries(image).filter(|entry| kinds.contains(&entry.kind));
    let named = filled.filter_map(|entry| {
        let at = u64::from(entry.symbol) * SYMBOL_SIZE;
        let is_undefined = u16_at(symbols, at + 6)? == 0;
        let name = text_at(names, u32_at(symbols, at)?.into())?;
        (is_undefined && !name.is_empty()).then(|| (entry.place, name.to_owned()))
    });
    named.collect()
}
