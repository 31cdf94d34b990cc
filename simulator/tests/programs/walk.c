/*
 * A program whose every access lies at an address that the linker chose, so that two runs under
 * two Valgrind tools touch the same lines: no C library, no arguments, no environment, and a stack
 * of its own. Its functions overflow a small L1I, its table a small L1D and a small L2.
 *
 * Without SPANNING no access touches two lines: words are aligned, and the assembler pads so that
 * no instruction crosses a 64-byte boundary. With SPANNING words start at any odd address, and
 * instructions wherever they fall.
 */
typedef unsigned word;

enum { WORDS = 1 << 13, ROUNDS = 4000 };

#ifdef SPANNING
struct __attribute__((packed)) slot {
    char odd;
    word value;
    char filling[2];
};
#else
__asm__(".bundle_align_mode 6");
struct slot {
    word value;
};
#endif

static struct slot table[WORDS];
__attribute__((used)) static char stack[1 << 14] __attribute__((aligned(64)));

#define STEP(n)                                                                                  \
    __attribute__((noinline)) static word step_##n(word x)                                       \
    {                                                                                            \
        for (word i = 0; i < 3; i++) {                                                           \
            word place = (x * 2654435761u + n * 40503u) >> 19;                                   \
            table[place].value += x;                                                             \
            x = x * 1664525u + 1013904223u + table[(place + n) % WORDS].value;                   \
            table[place * 7 % WORDS].value = x;                                                  \
        }                                                                                        \
        return x;                                                                                \
    }

#define ALL(each)                                                                                \
    each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7)                              \
    each(8) each(9) each(10) each(11) each(12) each(13) each(14) each(15)

#define CHOICE(n)                                                                                \
    case n:                                                                                      \
        x = step_##n(x);                                                                         \
        break;

ALL(STEP)

__attribute__((used, noreturn)) static void walk(void)
{
    word x = 1;
    for (word round = 0; round < ROUNDS; round++) {
        switch (x >> 13 & 15) {
            ALL(CHOICE)
        }
    }
    /* exit_group(0) */
    for (;;)
        __asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
}

__asm__(".globl _start\n"
        "_start:\n"
        "    leaq stack + 16384(%rip), %rsp\n"
        "    call walk\n");
