/*
 * makecontext: a coroutine that ends continues at its uc_link.
 *
 * The other functions for coroutines set the signal mask of a kernel thread, so they run at home
 * (interposed.h). When a coroutine's function returns, libc itself sets the mask of uc_link,
 * without an interposed call. On a carrier, that mask must not be the program's. So libc gets an
 * intermediate context, which has the carriers' mask and continues at the program's own uc_link
 * from home. It lies at the top of the coroutine's stack, which libc sees as slightly smaller than
 * it is. It runs below that, where the coroutine has ended. Rejected: to keep threads with
 * coroutines at home, which is unnecessary.
 */
#define _GNU_SOURCE
#include "carrier.h"
#include "cores.h"
#include "originals.h"

#include <stdarg.h>
#include <string.h>
#include <ucontext.h>

/* The most arguments of a coroutine's function; programs pass no more. */
#define MOST_ARGUMENTS 32
/* What makecontext() writes at the top of a stack: the link, and where the function returns to. */
#define TOP_SIZE 64
/* The least stack of linked(). */
#define STACK_SIZE 2048

struct between {
    ucontext_t context;
    ucontext_t *link; /* the program's */
};

typedef void make_function(ucontext_t *, void (*)(void), int, ...);

/* Runs on the stack of a coroutine that has ended. */
static void linked(uint32_t low, uint32_t high)
{
    const struct between *between = (const struct between *)((uintptr_t)high << 32 | low);
    setcontext(between->link);
}

/* Makes the intermediate context, at the end of the stack; NULL without room. */
static struct between *put_between(make_function *make, ucontext_t *context)
{
    char *stack = context->uc_stack.ss_sp;
    size_t size = context->uc_stack.ss_size;
    if (context->uc_link == NULL || size < sizeof(struct between) + TOP_SIZE + STACK_SIZE)
        return NULL;
    uintptr_t end = (uintptr_t)stack + size;
    struct between *between = (struct between *)((end - sizeof *between) & ~63ul);
    const uint64_t mask = BLOCKED_BY_CARRIERS;
    memcpy(&between->context, context, sizeof between->context);
    between->context.uc_mcontext.fpregs = &between->context.__fpregs_mem;
    between->context.uc_stack.ss_size = (size_t)((char *)between - stack);
    between->context.uc_link = NULL;
    memcpy(&between->context.uc_sigmask, &mask, sizeof mask);
    between->link = context->uc_link;
    uintptr_t at = (uintptr_t)between;
    make(&between->context, (void (*)(void))linked, 2, (uint32_t)at, (uint32_t)(at >> 32));
    return between;
}

__attribute__((visibility("default"))) void makecontext(ucontext_t *context, void (*run)(void),
                                                        int count, ...)
{
    static void *kept;
    make_function *make = (make_function *)original(&kept, "makecontext");
    long a[MOST_ARGUMENTS] = {0};
    va_list arguments;
    va_start(arguments, count);
    for (int i = 0; i < count && i < MOST_ARGUMENTS; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    ucontext_t *link = context->uc_link;
    size_t size = context->uc_stack.ss_size;
    struct between *between = carriers_are_possible() ? put_between(make, context) : NULL;
    if (between != NULL) {
        context->uc_link = &between->context;
        context->uc_stack.ss_size = between->context.uc_stack.ss_size - TOP_SIZE;
    }
    make(context, run, count, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
         a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23],
         a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31]);
    context->uc_link = link;
    context->uc_stack.ss_size = size;
}
