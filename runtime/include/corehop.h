/* Marks where a request begins, for `corehop record --request-at magic`: a no-op of 8 bytes. */
#ifndef COREHOP_H
#define COREHOP_H

/* The thread begins a request of the kind `id`, a constant from 0 to 65535. In C, and in C++ alike;
 * x86-64 only, and nothing elsewhere. The instruction is `nopl 0x7ace0000+id(%rax,%rax,1)`, which
 * processors skip and compilers do not write. */
#ifdef __x86_64__
#define COREHOP_REQUEST(id)                                                               \
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c0" ::"i"(0x7ace0000 | (id)) \
                     : "memory")
#else
#define COREHOP_REQUEST(id) ((void)0)
#endif

#endif
