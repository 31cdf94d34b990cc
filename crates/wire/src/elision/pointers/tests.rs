//! Checks the pointers found in short pieces of code, in readable form.

use super::*;
use iced_x86::code_asm::*;
use iced_x86::{Encoder, IcedError};

const START: u64 = 0x40_0000;

/// Returns the pointers of the code that `write` assembles. `1 at rdi+8` means that instruction 1
/// accesses memory 8 bytes after the initial value of rdi. `rbx = rdi+8` means that rbx has that
/// value at the end, and `rdi lost` that rdi has an unrelated value.
fn found(write: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>) -> Vec<String> {
    let mut assembler = CodeAssembler::new(64).unwrap();
    write(&mut assembler).unwrap();
    let mut address = START;
    let encode = |instruction: &Instruction| {
        let mut encoder = Encoder::new(64);
        address += encoder.encode(instruction, address).unwrap() as u64;
        encoder.take_buffer()
    };
    let code: Vec<Vec<u8>> = assembler.instructions().iter().map(encode).collect();
    let found = pointers(START, code.iter().map(Vec::as_slice));
    found.iter().map(said).collect()
}

fn said(pointer: &Pointer) -> String {
    let names = [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
    let name = |register: u8| names[usize::from(register)];
    match *pointer {
        Pointer::Accessed {
            instruction,
            register,
            distance,
        } => format!("{instruction} at {}{distance:+}", name(register)),
        Pointer::Held {
            at_end,
            register,
            distance,
        } => format!("{} = {}{distance:+}", name(at_end), name(register)),
        Pointer::Lost { at_end } => format!("{} lost", name(at_end)),
    }
}

#[test]
fn the_first_access_by_a_register_tells_it() {
    let told = found(|a| {
        a.mov(rax, qword_ptr(rdi + 8))?;
        a.mov(rcx, qword_ptr(rdi + 16))?;
        a.add(qword_ptr(rsi - 1), 1)
    });
    assert_eq!(told, ["0 at rdi+8", "2 at rsi-1", "rax lost", "rcx lost"]);
}

#[test]
fn a_register_that_was_written_tells_nothing_of_what_it_held() {
    let told = found(|a| {
        a.mov(rdi, qword_ptr(rdi + 8))?;
        a.xor(esi, esi)?;
        a.mov(rax, qword_ptr(rsi))?;
        a.cmove(rdx, rcx)?;
        a.mov(al, byte_ptr(rdx))
    });
    assert_eq!(
        told,
        ["0 at rdi+8", "rax lost", "rdx lost", "rsi lost", "rdi lost"]
    );
}

#[test]
fn what_is_moved_and_added_to_is_followed() {
    let told = found(|a| {
        a.push(rbx)?;
        a.lea(rbx, qword_ptr(rdi + 32))?;
        a.add(rsi, 5)?;
        a.mov(rbp, rsi)?;
        a.mov(eax, dword_ptr(rbx - 8))
    });
    assert_eq!(
        told,
        [
            "4 at rdi+24",
            "rbx = rdi+32",
            "rbp = rsi+5",
            "rsi = rsi+5",
            "rax lost"
        ]
    );
}

#[test]
fn an_access_by_two_registers_or_by_a_condition_or_the_stack_pointer_tells_none() {
    let told = found(|a| {
        a.mov(rax, qword_ptr(rdi + rsi * 8))?;
        a.mov(rax, qword_ptr(rsp + 8))?;
        a.rep().stosb()?;
        a.lea(rax, qword_ptr(rdx))?;
        a.mov(rax, qword_ptr(r8).gs())
    });
    assert_eq!(told, ["rax lost", "rcx lost", "rdi lost"]);
}

#[test]
fn after_a_system_call_nothing_is_known() {
    let told = found(|a| {
        a.mov(rbx, rdi)?;
        a.syscall()?;
        a.mov(rax, qword_ptr(rbx))
    });
    assert_eq!(told.len(), 15, "{told:?}");
    assert!(told.iter().all(|one| one.ends_with("lost")), "{told:?}");
}
