//! Elided accesses, which follow from others, are in the trace like recorded ones.

use crate::recording::{Recording, record};
use corehop_traces::{Access, Kind, RequestId};
use std::process::Command;

/// Instructions of each plain kind, loading, storing, or both, with others in between that no rule
/// covers; and functions of the C library, as code that was not written for this test. The stack is
/// a part of the program, so that it has the same addresses in each run.
const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
static long cells[64] __attribute__((aligned(64)));
static char text[4096];
static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
void serve(long round) {
    long *at = cells + round;
    long (*volatile called)(long) = labs;
    __asm__ volatile(
        "mov (%0), %%rax; mov 8(%0), %%ecx; mov 16(%0), %%dx; mov 24(%0), %%sil\n"
        "mov %%rax, 32(%0); mov %%ecx, 40(%0); mov %%dx, 48(%0); mov %%sil, 56(%0)\n"
        "movzbl 1(%0), %%eax; movzwl 2(%0), %%eax; movsbq 3(%0), %%rax; movslq 4(%0), %%rax\n"
        "lea 64(%0), %%rdx; addl $7, (%%rdx); sub %%eax, 8(%%rdx); addb $1, 16(%%rdx)\n"
        "adc %%rax, (%%rdx); sbb %%rax, 8(%%rdx); and %%eax, (%%rdx); or %%al, (%%rdx)\n"
        "xor %%ax, 8(%%rdx); incq (%%rdx); decl 8(%%rdx); negq 16(%%rdx); notb (%%rdx)\n"
        "cmp (%0), %%rax; cmpl $3, 8(%0); test %%eax, (%0); imul 8(%0), %%rax\n"
        "cmove (%0), %%rcx; cmovne 8(%0), %%ecx; cmovs 16(%0), %%rcx; seta 24(%0); setne (%0)\n"
        "movss (%0), %%xmm0; movsd 8(%0), %%xmm1; movd 16(%0), %%xmm2; movq 24(%0), %%xmm3\n"
        "movss %%xmm0, 4(%0); movsd %%xmm1, 8(%0); movd %%xmm2, 20(%0); movq %%xmm3, 24(%0)\n"
        "movups (%0), %%xmm4; movups %%xmm4, 16(%0); movaps %%xmm4, %%xmm5\n"
        "movdqu 24(%0), %%xmm0; movupd 32(%0), %%xmm1; movupd %%xmm0, 64(%0); mov $8, %%eax\n"
        "movdqu %%xmm1, 8(%0,%%rax,1); mov 16(%0,%%rax,1), %%rcx; movups %%fs:0, %%xmm5\n"
        "mov %0, %%rdx; and $-16, %%rdx; movaps (%%rdx), %%xmm2; movdqa 16(%%rdx), %%xmm3\n"
        "movapd 32(%%rdx), %%xmm4; movapd %%xmm2, 48(%%rdx); movdqa %%xmm3, (%%rdx)\n"
        "movaps %%xmm4, 16(%%rdx); paddd (%%rdx), %%xmm2; pcmpeqb 16(%%rdx), %%xmm3\n"
        "vmovdqu (%%rdx), %%ymm0; vmovups 32(%%rdx), %%ymm1; vmovdqu %%ymm0, 64(%%rdx)\n"
        "vmovapd 16(%%rdx), %%xmm2; vmovdqa %%xmm2, 96(%%rdx); vmovaps cells(%%rip), %%ymm3\n"
        "vmovdqu 24(%0), %%ymm4; vmovdqu %%ymm4, 40(%0); vpcmpeqb (%0), %%ymm4, %%ymm4\n"
        "vzeroupper; movups (%%edx), %%xmm5; movups cells(%%rip), %%xmm5\n"
        "movups %%xmm5, cells+16(%%rip)\n"
        "lock addq $1, (%0); xchg %%rax, 8(%0); lock cmpxchg %%rcx, 16(%0); cmpxchg %%cl, (%0)\n"
        "mov %%fs:0, %%rax; mov %%fs:0, %%rcx; mov $70, %%ecx; bts %%rcx, 24(%0); btl $5, 8(%0)\n"
        "fldl 8(%0); fstpl 16(%0); shlq $2, (%0); rorl %%cl, 8(%0); xaddl %%eax, 16(%0)\n"
        "mov %0, %%rdi; lea 256(%0), %%rsi; mov $3, %%ecx; cld; rep movsq; stosb; lodsl\n"
        "mov $0, %%ecx; rep movsq; mov (%%rdi), %%rax; mov 8(%%rsi), %%rcx\n"
        "inc %0; mov (%0), %%rax; dec %0; mov (%0), %%rax\n"
        "xor %%r8d, %%r8d; mov (%0, %%r8, 1), %%rax\n"
        "xor %%ecx, %%ecx; mov 8(%0, %%rcx, 8), %%rax; inc %%rcx; mov 8(%0, %%rcx, 8), %%rax\n"
        "add $1, %%ecx; mov 8(%0, %%rcx, 8), %%rax; xchg %%rcx, %%r9; mov 8(%0, %%r9, 8), %%rax\n"
        "mov %0, %%r10; add $8, %%r10d; mov (%0), %%rax; push %%r10; pop %%r11; mov (%0), %%rax\n"
        : "+r"(at) : "r"((long)0) : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
          "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "memory", "cc");
    __asm__ volatile(
        "sub $256, %%rsp; push %%rbp; mov %%rsp, %%rbp; push $5; push (%0); pushf; popf\n"
        "sub $16, %%rsp; mov %%rax, -8(%%rbp); mov (%%rsp), %%rax; pop 8(%0); leave\n"
        "push %%rsp; pop %%rsp; enter $16, $0; mov %%rax, -16(%%rbp); leave\n"
        "pushw %%ax; popw %%ax; call 1f; jmp 2f; 1: ret; 2: push %1; call *(%%rsp)\n"
        "add $8, %%rsp; mov (%%rsp), %%rax; add $256, %%rsp\n"
        : : "r"(at), "r"(called)
        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    static int numbers[40];
    for (int i = 0; i < 40; i++) numbers[i] = i * 7919 % 101;
    qsort(numbers, 40, sizeof *numbers, compare);
    char *room = malloc(300 + round);
    int length = snprintf(room, 300, "%d %s %f %lx", numbers[3], "words", round / 3.0, round);
    memset(text, length, sizeof text - round);
    memcpy(text + round, room, length);
    free(room);
}
static void rounds(void) {
    for (long round = 0; round < 12; round++) serve(round);
}
static char stack[1 << 17] __attribute__((aligned(4096)));
int main(void) {
    static ucontext_t back, own;
    getcontext(&own);
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = sizeof stack;
    own.uc_link = &back;
    makecontext(&own, rounds, 0);
    swapcontext(&back, &own);
    return 0;
}
"#;

/// Code of equal length that is rewritten at the same address for each request: it loads through
/// one register, or through two.
const REWRITTEN: &str = r#"
#include <string.h>
#include <sys/mman.h>
static char code[4096] __attribute__((aligned(4096)));
static long cells[8], others[8];
void serve(int round) {
    static const char one[] = "\x48\x8b\x07\x48\x8b\x47\x08\xc3";
    static const char two[] = "\x48\x8b\x07\x48\x8b\x46\x10\xc3";
    memcpy(code, round % 2 ? two : one, 8);
    ((long (*)(long *, long *))code)(cells, others);
}
int main(void) {
    mprotect(code, sizeof code, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int round = 0; round < 6; round++) serve(round);
    return 0;
}
"#;

/// Writes in two runs of code: to one page and the next, and to a third page. Writes to the last
/// two pages fault until the handler runs.
const FAULTING: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
static char *pages;
static void allow(int signal, siginfo_t *info, void *context) {
    long page = (long)info->si_addr & -4096;
    mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}
void serve(void) {
    mprotect(pages + 4096, 8192, PROT_NONE);
    __asm__ volatile("jmp 1f; 1: movq $1, (%0); movq $2, 4096(%0); jmp 2f; 2: movq $3, 8192(%0)"
        : : "r"(pages) : "memory");
}
int main(void) {
    pages = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%p\n", pages);
    fflush(stdout);
    struct sigaction action = {.sa_sigaction = allow, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    for (int round = 0; round < 4; round++) serve();
    return 0;
}
"#;

/// Addresses outside the program, which the system selects: heap and thread.
const ELSEWHERE: u64 = 1 << 32;

/// Records a program that is compiled with these options.
fn recording(source: &str, options: &[&str], record: Command, arguments: &[&str]) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    crate::recording::compile(folder.path(), "server", source, options);
    let request = ["--request-at", "serve", "--", "./server"];
    let arguments = arguments.iter().chain(&request).copied();
    Recording::start_as(record, folder, arguments)
}

/// Returns every access from the first request on, and its request. Addresses outside the program
/// are relative to the first of them.
fn played(source: &str, record: Command, arguments: &[&str]) -> Vec<(Option<u32>, Vec<Access>)> {
    let options = &["-static", "-fno-omit-frame-pointer", "-mno-red-zone"];
    let trace = recording(source, options, record, arguments).trace();
    assert_eq!(trace.threads().len(), 1);
    let mut executions = trace.executions();
    let (mut played, mut first) = (Vec::new(), None);
    while let Some(execution) = executions.next().unwrap() {
        let mut accesses = execution.accesses.to_vec();
        let addresses = accesses.iter_mut().map(|access| &mut access.address);
        for address in addresses.filter(|address| **address >= ELSEWHERE) {
            let first = *first.get_or_insert(*address);
            *address = address.wrapping_sub(first);
        }
        played.push((execution.request.map(|request| request.0), accesses));
    }
    played
}

/// Asserts that a program has the same accesses with and without elision.
fn assert_same_is_played(source: &str, last_request: u32, record: impl Fn() -> Command) {
    let elided = played(source, record(), &[]);
    let seen = played(source, record(), &["--no-elision"]);
    for (place, (elided, seen)) in elided.iter().zip(&seen).enumerate() {
        assert_eq!(elided, seen, "execution {place}");
    }
    assert_eq!(elided.len(), seen.len());
    assert_eq!(
        seen.last().and_then(|(request, _)| *request),
        Some(last_request)
    );
}

#[test]
fn what_is_left_out_is_put_back() {
    assert_same_is_played(SOURCE, 11, record);
}

#[test]
fn what_is_left_out_of_code_follows_the_code_when_it_is_rewritten() {
    assert_same_is_played(REWRITTEN, 5, record);
}

mod needs_qemu10 {
    use super::{SOURCE, assert_same_is_played, record};
    use crate::qemu10::Qemu10;

    #[test]
    fn what_is_left_out_is_put_back_under_qemu_10() {
        let qemu = Qemu10::found();
        assert_same_is_played(SOURCE, 11, || {
            let mut record = record();
            qemu.used_by(&mut record);
            record
        });
    }
}

/// Returns the pages written in the third request, in order.
fn pages_written(arguments: &[&str]) -> Vec<u64> {
    let mut recording = recording(FAULTING, &[], record(), arguments);
    let trace = recording.trace();
    let printed = recording.stdout();
    let pages = u64::from_str_radix(printed.trim().trim_start_matches("0x"), 16).unwrap();
    let mut executions = trace.executions();
    let mut written = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        let its = execution.accesses.iter();
        let its = its
            .filter(|access| access.kind == Kind::Store && execution.request == Some(RequestId(2)));
        let its = its.filter_map(|access| access.address.checked_sub(pages));
        written.extend(
            its.filter(|&place| place < 3 * 4096)
                .map(|place| place / 4096),
        );
    }
    written
}

#[test]
fn of_a_run_left_by_a_fault_what_follows_counts_as_made() {
    // QEMU runs the rest of a block again from the instruction that failed.
    assert_eq!(pages_written(&["--no-elision"]), [0, 1, 2]);
    assert_eq!(pages_written(&[]), [0, 1, 1, 2]);
}
