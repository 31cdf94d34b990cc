/*
 * A program whose every access is aligned and lies at an address that the linker chose, so that two
 * runs under two Valgrind tools access the same lines: no C library, no arguments, and a stack of
 * its own. Its tables overflow a small L1D, and one of its functions is inlined.
 */
typedef unsigned word;

enum { ITEMS = 1 << 11, ROUNDS = 300 };

#include "prices.h"

static volatile word stock[ITEMS];
__attribute__((used)) static char stack[1 << 14] __attribute__((aligned(64)));

__attribute__((noinline)) static word order(word item)
{
    word price = price_of(item);
    stock[item % ITEMS] = price;
    for (word other = 0; other < 8; other++)
        price += stock[(item + other * 97) % ITEMS];
    return price + price_of(item + 1);
}

__attribute__((used, noreturn)) static void trade(void)
{
    word item = 1;
    for (word round = 0; round < ROUNDS; round++)
        item = item * 1664525u + order(item) + 1013904223u;
    /* exit_group(0) */
    for (;;)
        __asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
}

__asm__(".globl _start\n"
        "_start:\n"
        "    leaq stack + 16384(%rip), %rsp\n"
        "    call trade\n");
