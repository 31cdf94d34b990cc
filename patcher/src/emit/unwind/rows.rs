//! A row of the unwind tables, which locates the caller's registers, and the instructions that
//! encode it.

use crate::elf::{Fde, Frames};
use gimli::constants as dwarf;
use gimli::{
    CfaRule, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindTableRow, X86_64,
};
use std::collections::BTreeMap;

/// A row of the unwind tables; offsets have a factor of 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    frame: Vec<u8>,
    registers: BTreeMap<u16, Vec<u8>>,
}

impl Row {
    /// The row of a function's entry, with `pushed` bytes pushed since.
    pub fn of_entry(pushed: u64) -> Row {
        let mut frame = vec![dwarf::DW_CFA_def_cfa.0];
        unsigned(&mut frame, X86_64::RSP.0.into());
        unsigned(&mut frame, 8 + pushed);
        let address = with_offset(dwarf::DW_CFA_offset_extended_sf, X86_64::RA, -8);
        Row {
            frame,
            registers: BTreeMap::from([(X86_64::RA.0, address)]),
        }
    }

    /// The original's row, with `pushed` bytes pushed since.
    fn of(row: &UnwindTableRow<usize>, pushed: u64, expression: Read<'_>) -> Option<Row> {
        let mut frame = Vec::new();
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                let pushed = if *register == X86_64::RSP { pushed } else { 0 };
                frame.push(dwarf::DW_CFA_def_cfa.0);
                unsigned(&mut frame, register.0.into());
                unsigned(&mut frame, u64::try_from(*offset).ok()? + pushed);
            }
            CfaRule::Expression(found) => {
                frame.push(dwarf::DW_CFA_def_cfa_expression.0);
                frame.extend(expression(found)?);
            }
        }
        let rules = row.registers().map(|(register, rule)| {
            let rule = said(*register, rule, expression)?;
            Some((register.0, rule))
        });
        Some(Row {
            frame,
            registers: rules.collect::<Option<_>>()?,
        })
    }

    /// The instructions that turn the previous row into this one; without a previous row, from
    /// nothing.
    pub fn after(&self, before: Option<&Row>) -> Vec<u8> {
        let mut code = Vec::new();
        if before.is_none_or(|before| before.frame != self.frame) {
            code.extend(&self.frame);
        }
        let ruled = |register| before.and_then(|before| before.registers.get(register));
        for (register, rule) in &self.registers {
            if ruled(register) != Some(rule) {
                code.extend(rule);
            }
        }
        let gone = before.iter().flat_map(|before| before.registers.keys());
        for register in gone.filter(|register| !self.registers.contains_key(register)) {
            code.push(dwarf::DW_CFA_same_value.0);
            unsigned(&mut code, (*register).into());
        }
        code
    }
}

/// The row at an address of a function, for a copy of the code there, with `pushed` bytes pushed
/// since.
pub(super) fn row_at(
    frames: &Frames<'_>,
    fde: &Fde<'_>,
    context: &mut UnwindContext<usize>,
    address: u64,
    pushed: u64,
) -> Option<Row> {
    let row = fde.unwind_info_for_address(&frames.section, &frames.bases, context, address);
    Row::of(row.ok()?, pushed, &|expression| {
        let code = expression.get(&frames.section).ok()?.0.slice();
        is_movable(code).then(|| block(code))
    })
}

/// All rows of a function, by the address at which each begins.
pub(crate) fn rows(frames: &Frames<'_>, fde: &Fde<'_>) -> Option<Vec<(u64, Row)>> {
    let mut context = UnwindContext::new();
    let mut table = fde
        .rows(&frames.section, &frames.bases, &mut context)
        .ok()?;
    let read = |found: &UnwindExpression<usize>| {
        let code = found.get(&frames.section).ok()?.0.slice();
        Some(block(code))
    };
    let mut rows = Vec::new();
    while let Some(row) = table.next_row().ok()? {
        rows.push((row.start_address(), Row::of(row, 0, &read)?));
    }
    Some(rows)
}

/// Whether an expression's value is independent of the address of its code and of pushed bytes: it
/// reads neither the stack pointer nor the instruction pointer.
fn is_movable(expression: &[u8]) -> bool {
    let read = [X86_64::RSP, X86_64::RA].map(|register| dwarf::DW_OP_breg0.0 + register.0 as u8);
    !expression.iter().any(|byte| read.contains(byte))
}

/// Returns an expression as an operand.
type Read<'a> = &'a dyn Fn(&UnwindExpression<usize>) -> Option<Vec<u8>>;

/// The instruction that encodes where a register is.
fn said(register: Register, rule: &RegisterRule<usize>, expression: Read<'_>) -> Option<Vec<u8>> {
    let mut code = Vec::new();
    let mut of_register = |instruction: dwarf::DwCfa| {
        code.push(instruction.0);
        unsigned(&mut code, register.0.into());
    };
    match rule {
        RegisterRule::Undefined => of_register(dwarf::DW_CFA_undefined),
        RegisterRule::SameValue => of_register(dwarf::DW_CFA_same_value),
        RegisterRule::Offset(offset) => {
            code = with_offset(dwarf::DW_CFA_offset_extended_sf, register, *offset);
        }
        RegisterRule::ValOffset(offset) => {
            code = with_offset(dwarf::DW_CFA_val_offset_sf, register, *offset);
        }
        RegisterRule::Register(other) => {
            of_register(dwarf::DW_CFA_register);
            unsigned(&mut code, other.0.into());
        }
        RegisterRule::Expression(found) => {
            of_register(dwarf::DW_CFA_expression);
            code.extend(expression(found)?);
        }
        RegisterRule::ValExpression(found) => {
            of_register(dwarf::DW_CFA_val_expression);
            code.extend(expression(found)?);
        }
        _ => return None,
    }
    Some(code)
}

fn with_offset(instruction: dwarf::DwCfa, register: Register, offset: i64) -> Vec<u8> {
    let mut code = vec![instruction.0];
    unsigned(&mut code, register.0.into());
    signed(&mut code, offset);
    code
}

/// An expression with its size.
fn block(expression: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    unsigned(&mut bytes, expression.len() as u64);
    bytes.extend(expression);
    bytes
}

/// Appends a number, seven bits to a byte.
fn unsigned(code: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        code.push(number as u8 | 0x80);
        number >>= 7;
    }
    code.push(number as u8);
}

fn signed(code: &mut Vec<u8>, mut number: i64) {
    while !(-0x40..0x40).contains(&number) {
        code.push(number as u8 | 0x80);
        number >>= 7;
    }
    code.push(number as u8 & 0x7f);
}
