//! The code that a hook runs, and the reverse: reading it back.
//!
//! A patched entry jumps to its trampoline. The trampoline steps over the red zone, since a
//! function that keeps data there may also jump to an entry. It pushes the number of the hook,
//! calls one shared stub, runs the displaced instructions and jumps back. The stub continues at the
//! address in the runtime's slot (runtime/hooks/enter.S). That code restores all registers and
//! flags, because GCC's -fipa-ra lets a caller keep any register that its callee is known not to
//! change. While the slot is zero the stub returns at once: `jrcxz` tests it without changing
//! flags.
//!
//! A return that may end a call of a function at whose end threads go back has a trampoline too:
//! the instructions before the return, a call of a second stub, and the return. At that point
//! nothing below the stack pointer is needed any more. The return address is on top, which shows
//! the runtime whose call ends. Any register may hold a returned value.
//!
//! A stub of one jump calls a function of another file, and its returns are not in this file. If
//! threads go back from it, its trampoline pushes the address to which it would jump and jumps to a
//! third stub. The runtime calls that address and removes it from the stack. While the hooks are
//! closed, the third stub's own `ret` goes there.
//!
//! A displaced call pushes the original return address and jumps. If the callee returned into the
//! trampoline, an exception passing through would find none of the function's handlers, which
//! tables identify by the function's own addresses. A shadow stack would not allow that; the loader
//! turns shadow stacks off because the runtime is not marked for them.

use super::mismatch::Mismatch;
use super::unfit::Unfit;
use crate::analyse::{JUMP_SIZE, Site, as_jump, encode, is_call, is_return, is_same};
use crate::elf::Stubs;
use iced_x86::code_asm::{CodeAssembler, qword_ptr, rax, rcx, rsp};
use iced_x86::{Code, Decoder, DecoderOptions, IcedError, Instruction, MemoryOperand, Register};

/// `lea rsp, [rsp - 128]`: the red zone is below.
const STEP_DOWN: [u8; 5] = [0x48, 0x8d, 0x64, 0x24, 0x80];
/// `push imm32`, without its operand.
const PUSH: u8 = 0x68;
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;
/// `lea rsp, [rsp + 136]`: red zone and hook number.
const STEP_UP: [u8; 8] = [0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0];
const RED_ZONE: u64 = 128;
const WORD: u64 = 8;
/// Bytes above the return address of a call of the entries' stub: hook number and red zone.
pub(super) const ABOVE_ENTRY: u64 = WORD + RED_ZONE + WORD;
/// Bytes above it for the two other stubs: one address.
pub(super) const ABOVE_EXIT: u64 = WORD;

/// The stub at `address`, for the pointer slot at `slot`.
pub(super) fn stub(address: u64, slot: u64) -> Result<Vec<u8>, Unfit> {
    assemble_stub(address, slot).map_err(Unfit::Stub)
}

fn assemble_stub(address: u64, slot: u64) -> Result<Vec<u8>, IcedError> {
    let mut a = CodeAssembler::new(64)?;
    let mut done = a.create_label();
    a.push(rcx)?;
    a.add_instruction(relative(Code::Mov_r64_rm64, Register::RCX, slot)?)?;
    a.jrcxz(done)?;
    a.jmp(rcx)?;
    a.set_label(&mut done)?;
    a.pop(rcx)?;
    a.ret()?;
    a.assemble(address)
}

/// An instruction whose memory operand is `address`, independent of the program's load address.
fn relative(code: Code, register: Register, address: u64) -> Result<Instruction, IcedError> {
    let operand = MemoryOperand::with_base_displ(Register::RIP, address as i64);
    Instruction::with2(code, register, operand)
}

/// A relative branch at `from` to `to`.
fn branch(opcode: u8, from: u64, to: u64) -> Result<[u8; JUMP_SIZE as usize], Unfit> {
    let distance = to.wrapping_sub(from + JUMP_SIZE) as i64;
    let distance = i32::try_from(distance).map_err(|_| Unfit::TooFar { from, to })?;
    let [a, b, c, d] = distance.to_le_bytes();
    Ok([opcode, a, b, c, d])
}

/// The jump from a patched entry to its trampoline.
pub(crate) fn entry_jump(site: u64, trampoline: u64) -> Result<[u8; 5], Unfit> {
    branch(JUMP, site, trampoline)
}

/// The state of the stack from an instruction of the hooks' code on.
pub(crate) struct Step {
    pub at: u64,
    /// As before the instruction at this address of the original; `None`: as at a function's entry.
    pub from: Option<u64>,
    /// Bytes that the code has pushed since.
    pub pushed: u64,
}

/// A trampoline under construction.
pub(super) struct Trampoline {
    pub address: u64,
    pub bytes: Vec<u8>,
    pub steps: Vec<Step>,
}

impl Trampoline {
    fn at(&self) -> u64 {
        self.address + self.bytes.len() as u64
    }

    fn step(&mut self, from: Option<u64>, pushed: u64) {
        let at = self.at();
        self.steps.push(Step { at, from, pushed });
    }

    fn branch(&mut self, opcode: u8, to: u64) -> Result<(), Unfit> {
        self.bytes.extend(branch(opcode, self.at(), to)?);
        Ok(())
    }
}

/// The trampoline of a site for `address`, with hooks numbered from `first`.
pub(super) fn trampoline(
    address: u64,
    first: u32,
    stubs: Stubs,
    site: &Site,
) -> Result<Trampoline, Unfit> {
    let mut code = Trampoline {
        address,
        bytes: Vec::new(),
        steps: Vec::new(),
    };
    let before = |ip| (!site.is_stub).then_some(ip);
    let entry = before(site.displaced.site);
    if let Some(index) = site.hook {
        code.step(entry, 0);
        code.bytes.extend(STEP_DOWN);
        code.step(entry, RED_ZONE);
        code.bytes.push(PUSH);
        code.bytes.extend((first + index as u32).to_le_bytes());
        code.step(entry, RED_ZONE + WORD);
        code.branch(CALL, stubs.enter)?;
        code.bytes.extend(STEP_UP);
    }
    if let Some(slot) = site.through {
        code.step(entry, 0);
        code.bytes.extend(push_target(code.at(), slot)?);
        code.step(entry, WORD);
        code.branch(JUMP, stubs.through)?;
        return Ok(code);
    }
    for (instruction, original) in site.displaced.parts() {
        let from = before(instruction.ip());
        if site.ends_calls && is_return(instruction) {
            // All registers are the caller's again, and the memory below the stack is overwritten.
            code.step(None, 0);
            code.branch(CALL, stubs.leave)?;
        } else {
            code.step(from, 0);
        }
        if is_call(instruction) {
            let pushes = push_address(code.at(), instruction.next_ip())?;
            let (pushing, rest) = pushes.split_at(2);
            for (&byte, pushed) in pushing.iter().zip([WORD, 2 * WORD]) {
                code.bytes.push(byte);
                code.step(from, pushed);
            }
            code.bytes.extend(rest);
            code.step(from, WORD);
            let jump = encode(&as_jump(instruction), &[], code.at())?;
            code.bytes.extend(jump);
        } else {
            code.bytes.extend(encode(instruction, original, code.at())?);
        }
    }
    if let Some(resume) = site.displaced.resume {
        code.step(before(resume), 0);
        code.branch(JUMP, resume)?;
    }
    Ok(code)
}

/// The state of the stack in a stub, which starts with `pushed` bytes above a return address.
pub(super) fn stub_steps(address: u64, size: usize, pushed: u64) -> Vec<Step> {
    let step = |at, pushed| Step {
        at: address + at,
        from: None,
        pushed,
    };
    // It begins with a push, and ends with a pop and a return, one byte each.
    vec![
        step(0, pushed),
        step(1, pushed + WORD),
        step(size as u64 - 1, pushed),
    ]
}

/// Pushes the address that the loader has stored in a slot; registers and flags stay.
fn push_target(at: u64, slot: u64) -> Result<Vec<u8>, Unfit> {
    let assemble = || {
        let mut a = CodeAssembler::new(64)?;
        let operand = MemoryOperand::with_base_displ(Register::RIP, slot as i64);
        a.add_instruction(Instruction::with1(Code::Push_rm64, operand)?)?;
        a.assemble(at)
    };
    assemble().map_err(|error| Unfit::Push {
        at,
        pushed: slot,
        error,
    })
}

/// Pushes an address of the program, independent of its load address; registers and flags stay.
fn push_address(at: u64, pushed: u64) -> Result<Vec<u8>, Unfit> {
    let assemble = || {
        let mut a = CodeAssembler::new(64)?;
        a.push(rax)?;
        a.push(rax)?;
        a.add_instruction(relative(Code::Lea_r64_m, Register::RAX, pushed)?)?;
        a.mov(qword_ptr(rsp + 8), rax)?;
        a.pop(rax)?;
        a.assemble(at)
    };
    assemble().map_err(|error| Unfit::Push { at, pushed, error })
}

/// Reads a trampoline back and reports how it differs from the one that its site requires. The
/// prologue and calls are compared byte by byte, moved instructions by their decoded form.
pub(crate) fn check_trampoline(
    code: &[u8],
    address: u64,
    first: u32,
    stubs: Stubs,
    site: &Site,
) -> Result<(), Mismatch> {
    let mut rest = Reader { code, address };
    if let Some(index) = site.hook {
        rest.bytes(&STEP_DOWN, "does not step over the red zone")?;
        rest.bytes(&[PUSH], "does not push its hook number")?;
        let number = first + index as u32;
        rest.bytes(&number.to_le_bytes(), "pushes another hook's number")?;
        let call = branch(CALL, rest.address, stubs.enter)?;
        rest.bytes(&call, "does not call the stub")?;
        rest.bytes(&STEP_UP, "does not restore the stack")?;
    }
    if let Some(slot) = site.through {
        let push = push_target(rest.address, slot)?;
        rest.bytes(&push, "does not push the imported function's address")?;
        let jump = branch(JUMP, rest.address, stubs.through)?;
        return rest.bytes(&jump, "does not jump to the stub that calls it");
    }
    for (instruction, original) in site.displaced.parts() {
        if site.ends_calls && is_return(instruction) {
            let call = branch(CALL, rest.address, stubs.leave)?;
            rest.bytes(&call, "does not call the stub before it returns")?;
        }
        let at = instruction.ip();
        if is_call(instruction) {
            let pushed = push_address(rest.address, instruction.next_ip())?;
            rest.bytes(&pushed, "does not push the call's own return address")?;
            rest.instruction(&as_jump(instruction), None, at)?;
        } else {
            rest.instruction(instruction, Some(original), at)?;
        }
    }
    if let Some(resume) = site.displaced.resume {
        let jump = branch(JUMP, rest.address, resume)?;
        rest.bytes(
            &jump,
            "does not jump back behind the displaced instructions",
        )?;
    }
    Ok(())
}

/// Reads the stub back: it must be the stub, and test exactly the slot that the runtime will fill.
pub(crate) fn check_stub(code: &[u8], address: u64, slot: u64) -> Result<(), Mismatch> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let load = decoder.iter().nth(1).unwrap_or_default();
    if !load.is_ip_rel_memory_operand() || load.ip_rel_memory_address() != slot {
        return Err(Mismatch::Slot { at: address, slot });
    }
    if !code.starts_with(&stub(address, slot)?) {
        return Err(Mismatch::NoStub(address));
    }
    Ok(())
}

struct Reader<'a> {
    code: &'a [u8],
    address: u64,
}

impl Reader<'_> {
    fn skip(&mut self, count: usize) {
        self.code = &self.code[count..];
        self.address += count as u64;
    }

    fn bytes(&mut self, expected: &[u8], fault: &'static str) -> Result<(), Mismatch> {
        if !self.code.starts_with(expected) {
            return Err(Mismatch::Bytes {
                at: self.address,
                fault,
            });
        }
        self.skip(expected.len());
        Ok(())
    }

    fn instruction(
        &mut self,
        expected: &Instruction,
        bytes: Option<&[u8]>,
        from: u64,
    ) -> Result<(), Mismatch> {
        let mut decoder = Decoder::with_ip(64, self.code, self.address, DecoderOptions::NONE);
        let found = decoder.decode();
        let same = match bytes {
            Some(bytes) if self.code.starts_with(bytes) => true,
            _ => is_same(expected, &found),
        };
        if !same {
            return Err(Mismatch::Moved {
                at: self.address,
                from,
                found,
            });
        }
        self.skip(found.len());
        Ok(())
    }
}
