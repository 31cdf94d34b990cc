//! Checks the dependences found in short pieces of code, in readable form.

use super::*;
use iced_x86::code_asm::*;
use iced_x86::{Encoder, IcedError};

const START: u64 = 0x40_0000;

/// Returns the dependences of the code that `write` assembles. `address 1 < load 0` means that the
/// address of instruction 1 comes from the load of instruction 0.
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
    let found = dependences(START, code.iter().map(Vec::as_slice));
    found.iter().map(said).collect()
}

fn said(dependence: &Dependence) -> String {
    let of = match dependence.of {
        Dependent::Address(place) => format!("address {place}"),
        Dependent::Stored(place) => format!("stored {place}"),
        Dependent::Register(number) => format!("r{number}"),
    };
    let from = match dependence.from {
        Source::Nothing => "nothing".into(),
        Source::Load(place) => format!("load {place}"),
        Source::Register(number) => format!("r{number}"),
    };
    format!("{of} < {from}")
}

#[test]
fn a_chase_depends_on_itself() {
    let found = found(|a| {
        a.mov(rax, qword_ptr(rax + 8))?;
        a.mov(rax, qword_ptr(rax + 8))
    });
    assert_eq!(
        found,
        ["address 0 < r0", "address 1 < load 0", "r0 < load 1"]
    );
}

#[test]
fn arithmetic_passes_on_what_it_is_given() {
    let found = found(|a| {
        a.mov(rax, qword_ptr(rdi))?;
        a.lea(rcx, qword_ptr(rax + 8))?;
        a.shl(rcx, 3u32)?;
        a.mov(rdx, qword_ptr(rsi + rcx))?;
        a.imul_3(r8, rsi, 5)
    });
    let expected = [
        "address 0 < r7",
        "address 3 < load 0",
        "r0 < load 0",
        "r1 < load 0",
        "r2 < load 3",
        "r8 < r6",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_index_and_a_base_are_two_sources() {
    let found = found(|a| a.mov(eax, dword_ptr(rbx + rcx * 4)));
    assert_eq!(found, ["address 0 < r1", "address 0 < r3", "r0 < load 0"]);
}

#[test]
fn what_is_set_to_a_constant_comes_from_nothing() {
    let found = found(|a| {
        a.xor(eax, eax)?;
        a.mov(ebx, 5u32)?;
        a.mov(rcx, qword_ptr(rax + rbx))
    });
    assert_eq!(found, ["r0 < nothing", "r1 < load 2", "r3 < nothing"]);
}

#[test]
fn the_stack_pointer_comes_from_nothing() {
    let found = found(|a| {
        a.push(rbx)?;
        a.sub(rsp, 16)?;
        a.mov(qword_ptr(rsp + 8), rdi)?;
        a.mov(rdi, qword_ptr(rsp + 8))?;
        a.add(rsp, 16)?;
        a.pop(rbx)?;
        a.ret()
    });
    let expected = [
        "stored 0 < r3",
        "stored 2 < r7",
        "r3 < load 5",
        "r7 < load 3",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_read_and_written_is_stored_from_its_own_load() {
    let found = found(|a| a.add(qword_ptr(rdi), rax));
    assert_eq!(found, ["address 0 < r7", "stored 0 < load 0"]);
}

#[test]
fn a_stored_address_is_a_value_too() {
    let found = found(|a| {
        a.mov(qword_ptr(rdi), rdi)?;
        a.mov(qword_ptr(rdi), rsi)
    });
    let expected = [
        "address 0 < r7",
        "address 1 < r7",
        "stored 0 < r7",
        "stored 1 < r6",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_conditional_move_depends_on_its_condition() {
    let found = found(|a| {
        a.cmp(qword_ptr(rdi), rsi)?;
        a.cmovl(rax, rdx)?;
        a.mov(rcx, qword_ptr(rax))
    });
    let expected = [
        "address 0 < r7",
        "address 2 < load 0",
        "r0 < load 0",
        "r1 < load 2",
    ];
    assert_eq!(found, expected);
}

#[test]
fn vector_registers_pass_on_within_a_block() {
    let found = found(|a| {
        a.movups(xmm0, xmmword_ptr(rsi))?;
        a.movups(xmmword_ptr(rdi), xmm0)?;
        a.movq(rax, xmm1)
    });
    let expected = [
        "address 0 < r6",
        "address 1 < r7",
        "stored 1 < load 0",
        "r0 < nothing",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_string_instruction_moves_on_by_itself() {
    let found = found(|a| {
        a.rep().movsb()?;
        a.rep().stosq()?;
        a.lodsb()
    });
    let expected = [
        "address 0 < r6",
        "address 0 < r7",
        "address 1 < r7",
        "address 2 < r6",
        "stored 0 < load 0",
        "stored 1 < r0",
        "r0 < load 2",
    ];
    assert_eq!(found, expected);
}

#[test]
fn part_of_a_register_keeps_the_rest() {
    let found = found(|a| {
        a.mov(rax, qword_ptr(rdi))?;
        a.mov(al, 1u32)?;
        a.mov(dl, sil)
    });
    let expected = ["address 0 < r7", "r0 < load 0", "r2 < r2", "r2 < r6"];
    assert_eq!(found, expected);
}

#[test]
fn behind_bytes_that_are_no_instruction_nothing_is_known() {
    let code: [&[u8]; 2] = [&[0x06], &[0x48, 0x8b, 0x07]];
    let found = dependences(START, code.into_iter());
    let found: Vec<_> = found.iter().map(said).collect();
    assert_eq!(found.len(), 15);
    assert!(found.contains(&"r0 < load 1".to_owned()));
    assert!(found.contains(&"r7 < nothing".to_owned()));
}

#[test]
fn at_most_four_registers_are_named() {
    let found = found(|a| {
        a.lea(rax, qword_ptr(rbx + rcx))?;
        a.add(rax, rdx)?;
        a.add(rax, rsi)?;
        a.add(rax, rdi)
    });
    assert_eq!(found, ["r0 < r1", "r0 < r2", "r0 < r3", "r0 < r6"]);
}
