/*
 * Vector and floating-point state of a traveller, from core to core.
 *
 * XSAVE and XRSTOR keep everything, and take longer than the rest of a hop. Mostly nothing but the
 * sixteen SSE registers is in use, which the processor tells (XINUSE, by xgetbv): those are moved
 * one by one, and only a thread that holds AVX, AVX-512, x87 or later state is saved whole. What is
 * in use then must not stay behind, since the next traveller here may be restored without it:
 * between travellers, every kernel thread has its initial state but for SSE and protection keys.
 * Rejected: to save only what a called function must keep, since callers compiled with -fipa-ra
 * keep more (runtime/enter.S).
 */
#define _GNU_SOURCE
#include "carrier.h"

#include <cpuid.h>

#define SSE 2ul
#define KEYS (1ul << 9)
#define CAN_COMPACT 2
#define TELLS_IN_USE 4
#define KEYS_ARE_ON 16

size_t vectors_size;
static bool compacts, tells, has_keys;

/* An XSAVE area that says of every component that it is as at the start. */
static struct {
    uint8_t legacy[24];
    uint32_t control, control_mask;
    uint8_t registers[480];
    uint64_t present, format, reserved[6];
} __attribute__((aligned(64))) initial = {.control = 0x1f80};

static bool has_sse_only(void)
{
    uint32_t low, high;
    if (UNLIKELY(!tells))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & ~(SSE | KEYS)) == 0 && high == 0;
}

static uint32_t keys(void)
{
    uint32_t value, zero;
    __asm__ volatile("rdpkru" : "=a"(value), "=d"(zero) : "c"(0));
    return value;
}

void reset_vectors(void)
{
    uint64_t others = ~(SSE | KEYS);
    __asm__ volatile("xrstor64 %0" : : "m"(initial), "a"((uint32_t)others), "d"(others >> 32));
}

static __attribute__((noinline)) void save_all(struct traveller *traveller)
{
    uint8_t *area = traveller->vectors;
    if (LIKELY(compacts))
        __asm__ volatile("xsavec64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    else
        __asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    traveller->is_whole = true;
    reset_vectors();
}

void save_vectors(struct traveller *traveller)
{
    if (UNLIKELY(!has_sse_only())) {
        save_all(traveller);
        return;
    }
    traveller->is_whole = false;
    if (UNLIKELY(has_keys))
        traveller->keys = keys();
    __asm__ volatile("stmxcsr %0\n\t"
                     "movaps %%xmm0, (%1)\n\tmovaps %%xmm1, 16(%1)\n\t"
                     "movaps %%xmm2, 32(%1)\n\tmovaps %%xmm3, 48(%1)\n\t"
                     "movaps %%xmm4, 64(%1)\n\tmovaps %%xmm5, 80(%1)\n\t"
                     "movaps %%xmm6, 96(%1)\n\tmovaps %%xmm7, 112(%1)\n\t"
                     "movaps %%xmm8, 128(%1)\n\tmovaps %%xmm9, 144(%1)\n\t"
                     "movaps %%xmm10, 160(%1)\n\tmovaps %%xmm11, 176(%1)\n\t"
                     "movaps %%xmm12, 192(%1)\n\tmovaps %%xmm13, 208(%1)\n\t"
                     "movaps %%xmm14, 224(%1)\n\tmovaps %%xmm15, 240(%1)"
                     : "=m"(traveller->control)
                     : "r"(traveller->registers)
                     : "memory");
}

void restore_vectors(const struct traveller *traveller)
{
    if (UNLIKELY(traveller->is_whole)) {
        __asm__ volatile("xrstor64 (%0)" : : "r"(traveller->vectors), "a"(-1), "d"(-1) : "memory");
        return;
    }
    if (UNLIKELY(has_keys) && keys() != traveller->keys)
        __asm__ volatile("wrpkru" : : "a"(traveller->keys), "c"(0), "d"(0) : "memory");
    __asm__ volatile("ldmxcsr %0\n\t"
                     "movaps (%1), %%xmm0\n\tmovaps 16(%1), %%xmm1\n\t"
                     "movaps 32(%1), %%xmm2\n\tmovaps 48(%1), %%xmm3\n\t"
                     "movaps 64(%1), %%xmm4\n\tmovaps 80(%1), %%xmm5\n\t"
                     "movaps 96(%1), %%xmm6\n\tmovaps 112(%1), %%xmm7\n\t"
                     "movaps 128(%1), %%xmm8\n\tmovaps 144(%1), %%xmm9\n\t"
                     "movaps 160(%1), %%xmm10\n\tmovaps 176(%1), %%xmm11\n\t"
                     "movaps 192(%1), %%xmm12\n\tmovaps 208(%1), %%xmm13\n\t"
                     "movaps 224(%1), %%xmm14\n\tmovaps 240(%1), %%xmm15"
                     :
                     : "m"(traveller->control), "r"(traveller->registers)
                     : "memory");
}

bool prepare_vectors(void)
{
    uint32_t a, size, c, d;
    __cpuid_count(7, 0, a, size, c, d);
    has_keys = (c & KEYS_ARE_ON) != 0;
    __cpuid_count(0xd, 1, a, size, c, d);
    compacts = (a & CAN_COMPACT) != 0;
    tells = (a & TELLS_IN_USE) != 0;
    if (compacts)
        initial.format = 1ul << 63;
    __cpuid_count(0xd, 0, a, size, c, d);
    vectors_size = ((size_t)size + 63) & ~(size_t)63;
    return vectors_size != 0;
}
