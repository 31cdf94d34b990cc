//! Checks the accesses found in short pieces of code.

use super::*;
use iced_x86::code_asm::*;
use iced_x86::{Code, Encoder, IcedError, MemoryOperand, Register};

const START: u64 = 0x40_0000;

/// Returns the accesses of the code that `write` assembles.
fn found(write: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>) -> BlockAccesses {
    found_by(false, write)
}

/// Like `found`, with or without moves of 16 and 32 bytes in pieces of 8.
fn found_by(
    in_pieces: bool,
    write: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>,
) -> BlockAccesses {
    let mut assembler = CodeAssembler::new(64).unwrap();
    write(&mut assembler).unwrap();
    let mut address = START;
    let instructions: Vec<Vec<u8>> = assembler
        .instructions()
        .iter()
        .map(|instruction| {
            let mut encoder = Encoder::new(64);
            let length = encoder.encode(instruction, address).unwrap();
            address += length as u64;
            encoder.take_buffer()
        })
        .collect();
    BlockAccesses::of(START, instructions.iter().map(Vec::as_slice), in_pieces)
}

/// The access that an access is derived from, and the distance; `None` if it is recorded.
type From = Option<(u16, i64)>;

/// Returns for each access: its instruction, `true` for a store, and its origin.
fn outline(found: &BlockAccesses) -> Vec<(u16, bool, From)> {
    let outline = |access: &PlainAccess| {
        let from = match access.address {
            Address::Recorded => None,
            Address::FromCode(_) => panic!("{access:?}"),
            Address::From { access, distance } => Some((access, distance)),
        };
        (access.form.instruction, access.form.store, from)
    };
    found.all.iter().map(outline).collect()
}

#[test]
fn a_prologue_and_its_epilogue_are_recorded_once() {
    let found = found(|a| {
        a.push(rbp)?;
        a.mov(rbp, rsp)?;
        a.push(rbx)?;
        a.sub(rsp, 24)?;
        a.mov(qword_ptr(rbp - 16), rdi)?;
        a.mov(eax, dword_ptr(rsp + 4))?;
        a.add(rsp, 24)?;
        a.pop(rbx)?;
        a.pop(rbp)?;
        a.ret()
    });
    let expected = [
        (0, true, None),
        (2, true, Some((0, -8))),
        (4, true, Some((0, -16))),
        (5, false, Some((0, -28))),
        (7, false, Some((0, -8))),
        (8, false, Some((0, 0))),
        (9, false, Some((0, 8))),
    ];
    assert_eq!(outline(&found), expected);
    assert!(found.none_before);
}

#[test]
fn leave_reads_where_the_frame_pointer_points() {
    let found = found(|a| {
        a.mov(qword_ptr(rbp - 8), rdi)?;
        a.leave()?;
        a.ret()
    });
    let expected = [
        (0, true, None),
        (1, false, Some((0, 8))),
        (2, false, Some((0, 16))),
    ];
    assert_eq!(outline(&found), expected);
}

#[test]
fn an_access_to_what_a_register_held_before_does_not_follow() {
    let found = found(|a| {
        a.mov(rax, qword_ptr(rdi))?;
        a.mov(rdi, rax)?;
        a.mov(rcx, qword_ptr(rdi))?;
        a.mov(rdx, qword_ptr(rax + 8))?;
        a.mov(edi, edi)?;
        a.mov(rcx, qword_ptr(rdi))
    });
    let expected = [
        (0, false, None),
        (2, false, None),
        (3, false, Some((1, 8))),
        (5, false, None),
    ];
    assert_eq!(outline(&found), expected);
}

#[test]
fn what_is_read_and_written_is_recorded_once() {
    let found = found(|a| {
        a.add(qword_ptr(rdi + rsi * 8), rax)?;
        a.inc(rsi)?;
        a.cmp(dword_ptr(rdi + rsi * 8 + 4), eax)?;
        a.cmp(dword_ptr(rdi + rsi * 4), eax)
    });
    let expected = [
        (0, false, None),
        (0, true, Some((0, 0))),
        (2, false, Some((0, 12))),
        (3, false, None),
    ];
    assert_eq!(outline(&found), expected);
}

#[test]
fn a_call_through_memory_loads_and_then_stores() {
    let found = found(|a| {
        a.push(rax)?;
        a.call(qword_ptr(rbx + 16))
    });
    let expected = [(0, true, None), (1, false, None), (1, true, Some((0, -8)))];
    assert_eq!(outline(&found), expected);
}

#[test]
fn a_fixed_address_follows_from_the_code() {
    let found = found(|a| {
        a.nop()?;
        // The encoder makes it relative to the instruction.
        let place = MemoryOperand::with_base_displ(Register::RIP, START as i64 + 0x2000);
        a.add_instruction(Instruction::with2(
            Code::Mov_r64_rm64,
            Register::RAX,
            place,
        )?)?;
        a.mov(rax, qword_ptr(rdi))
    });
    assert_eq!(found.all[0].address, Address::FromCode(0x2000));
    assert_eq!(found.all[1].address, Address::Recorded);
    assert!(found.none_before);
}

#[test]
fn what_is_not_plain_is_left_alone() {
    let found = found(|a| {
        a.mov(rax, qword_ptr(rdi))?;
        a.lock().add(qword_ptr(rdi), rax)?;
        a.xchg(qword_ptr(rdi), rax)?;
        a.movups(xmm0, xmmword_ptr(rdi))?;
        a.rep().movsq()?;
        a.mov(rax, qword_ptr(0x28).fs())?;
        a.bt(qword_ptr(rdi), rax)?;
        a.mov(rax, qword_ptr(edi))
    });
    assert_eq!(outline(&found), [(0, false, None), (5, false, None)]);
    assert!(found.none_before);
}

#[test]
fn something_before_may_be_recorded() {
    let found = found(|a| {
        a.movups(xmm0, xmmword_ptr(rdi))?;
        a.mov(rax, qword_ptr(rdi))
    });
    assert!(!found.none_before);
}

#[test]
fn nothing_is_known_behind_bytes_that_are_no_instruction() {
    let code: [&[u8]; 3] = [&[0x53], &[0x06], &[0x5b]];
    let found = BlockAccesses::of(START, code.into_iter(), true);
    assert_eq!(outline(&found), [(0, true, None), (2, false, None)]);
}

#[test]
fn of_a_move_in_pieces_all_are_recorded_or_none() {
    let write = |a: &mut CodeAssembler| {
        a.movups(xmm0, xmmword_ptr(rdi))?;
        a.movups(xmm1, xmmword_ptr(rdi + 16))?;
        a.movaps(xmmword_ptr(rsi - 32), xmm0)?;
        a.mov(rax, qword_ptr(rsi - 24))?;
        a.paddd(xmm0, xmmword_ptr(rsi))?;
        a.movdqu(xmm0, xmmword_ptr(edi))?;
        a.vmovdqu(ymmword_ptr(rsi), ymm1)?;
        a.vmovups(zmm1, zmmword_ptr(rsi))?;
        a.vmovaps(xmm1, xmmword_ptr(rsi + 32))
    };
    let expected = [
        (0, false, None),
        (0, false, None),
        (1, false, Some((1, 8))),
        (1, false, Some((1, 16))),
        (2, true, None),
        (2, true, None),
        (3, false, Some((5, 0))),
        (6, true, Some((5, 24))),
        (6, true, Some((5, 32))),
        (6, true, Some((5, 40))),
        (6, true, Some((5, 48))),
        (8, false, Some((5, 56))),
        (8, false, Some((5, 64))),
    ];
    assert_eq!(outline(&found_by(true, write)), expected);
    assert!(found_by(true, write).none_before);
    assert_eq!(outline(&found_by(false, write)), [(3, false, None)]);
}
