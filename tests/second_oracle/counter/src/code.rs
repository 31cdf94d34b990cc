//! Identifies calls and returns.
//!
//! If the program and its libraries are available, objdump identifies them. Otherwise the trace
//! does: an instruction after which the thread continued elsewhere is a transfer. Of transfers,
//! only calls end with a store of 8 bytes, the return address, and only returns have one byte and
//! load 8.

use crate::exported::{Instruction, Kind};
use std::collections::HashMap;
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The return address was stored here.
    Call(u64),
    /// The return address was loaded from here.
    Return(u64),
}

/// The known code of the program.
pub enum Code {
    /// By address: true for a call, false for a return.
    Disassembled(HashMap<u64, bool>),
    Unknown,
}

impl Code {
    /// Disassembles these files, each with the offset to add to its addresses.
    pub fn disassembled<'a>(modules: impl IntoIterator<Item = (&'a str, u64)>) -> Code {
        let mut transfers = HashMap::new();
        for (path, load_bias) in modules {
            let objdump = Command::new("objdump")
                .args(["-d", "--no-show-raw-insn", path])
                .output()
                .expect("objdump, of binutils");
            assert!(objdump.status.success(), "objdump {path}");
            let text = String::from_utf8_lossy(&objdump.stdout);
            let found = text.lines().filter_map(transfer);
            transfers.extend(found.map(|(offset, calls)| (load_bias + offset, calls)));
        }
        Code::Disassembled(transfers)
    }

    /// Returns the kind of an instruction after which its thread continued at `next`.
    pub fn transfer(&self, ran: &Instruction, next: u64) -> Option<Transfer> {
        let last = ran.last?;
        let calls = match self {
            Code::Disassembled(transfers) => *transfers.get(&ran.address)?,
            Code::Unknown => {
                let goes_on = next == ran.address || next == ran.address + ran.bytes;
                let calls = last.kind == Kind::Store;
                if goes_on || last.bytes != 8 || !(calls || ran.bytes == 1) {
                    return None;
                }
                calls
            }
        };
        let kind = if calls { Kind::Store } else { Kind::Load };
        assert_eq!((last.kind, last.bytes), (kind, 8), "{ran:x?}");
        Some(match calls {
            true => Transfer::Call(last.address),
            false => Transfer::Return(last.address),
        })
    }
}

/// Parses a call or return of objdump, with or without prefixes: `4711:\tbnd call 4242 <serve>`.
fn transfer(line: &str) -> Option<(u64, bool)> {
    let (address, instruction) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let mut words = instruction.split_whitespace();
    let name = words.find(|word| matches!(*word, "call" | "ret"))?;
    Some((address, name == "call"))
}
