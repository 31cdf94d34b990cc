/*
 * Vector and floating-point state of a fiber, from core to core.
 *
 * XSAVE and XRSTOR save everything and take longer than the rest of a hop. Mostly only the sixteen
 * SSE registers are in use, which the processor reports (XINUSE, by xgetbv). Those are moved one by
 * one. If libc compares strings with AVX-512, the masks and the upper sixteen registers are in use
 * too, from a thread's first string on. Of those, only the nonzero words are moved. XSAVE saves
 * only threads that hold wide AVX, x87, or later state. State that is in use must not stay behind,
 * since the next fiber here may be restored without it. So between fibers every kernel thread has
 * its initial state, except SSE and protection keys. Rejected: to save only what a called function
 * must preserve, since callers compiled with -fipa-ra preserve more (runtime/hooks/enter.S).
 */
#define _GNU_SOURCE
#include "vectors.h"

#include <cpuid.h>

#define SSE 2ul
#define MASKS (1ul << 5)
#define UPPER (1ul << 7)
#define KEYS (1ul << 9)
#define CAN_COMPACT 2
#define TELLS_IN_USE 4
#define KEYS_ARE_ON 16
#define HAS_WIDE_MASKS (1ul << 30)
#define HAS_VECTOR_LENGTHS (1ul << 31)

/* How a fiber is saved. */
#define SSE_ONLY 0u
#define WITH_UPPER 1u
#define WHOLE 2u

size_t vectors_size;
static bool compacts, tells, has_keys, has_upper;

/* The first part of a fiber's `vectors`, before the XSAVE area. XRSTOR faults on an area in which
 * anything else was written. */
struct upper {
    uint32_t registers[16][16] __attribute__((aligned(64)));
    uint64_t masks[8];
    uint16_t present[16]; /* nonzero words of each register */
};
_Static_assert(offsetof(struct upper, masks) == 1024, "as SAVE_MASK has it");
_Static_assert(offsetof(struct upper, present) == 1088, "as SAVE_UPPER has it");
#define XSAVE_AREA sizeof(struct upper)

/* An XSAVE area that marks every component as in its initial state. */
static struct {
    uint8_t legacy[24];
    uint32_t control, control_mask;
    uint8_t registers[480];
    uint64_t present, format, reserved[6];
} __attribute__((aligned(64))) initial = {.control = 0x1f80};

static uint32_t in_use(void)
{
    uint32_t low, high;
    if (UNLIKELY(!tells))
        return WHOLE;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    low &= ~(uint32_t)(SSE | KEYS);
    if (LIKELY((low | high) == 0))
        return SSE_ONLY;
    return has_upper && (low & ~(uint32_t)(MASKS | UPPER)) == 0 && high == 0 ? WITH_UPPER : WHOLE;
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

static __attribute__((noinline)) void save_all(struct fiber *fiber)
{
    uint8_t *area = fiber->vectors + XSAVE_AREA;
    if (LIKELY(compacts))
        __asm__ volatile("xsavec64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    else
        __asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    reset_vectors();
}

#define EIGHT(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7)
#define UPPER_SIXTEEN(each)                                                                   \
    each(16) each(17) each(18) each(19) each(20) each(21) each(22) each(23) each(24) each(25) \
        each(26) each(27) each(28) each(29) each(30) each(31)
#define SAVE_MASK(n) "kmovq %%k" #n ", 1024 + 8*" #n "(%0)\n\t"
#define CLEAR_MASK(n) "kxorq %%k" #n ", %%k" #n ", %%k" #n "\n\t"
#define RESTORE_MASK(n) "kmovq 1024 + 8*" #n "(%0), %%k" #n "\n\t"
#define SAVE_UPPER(n)                                       \
    "vptestmd %%zmm" #n ", %%zmm" #n ", %%k1\n\t"           \
    "kmovw %%k1, 1088 + 2*(" #n "-16)(%0)\n\t"              \
    "vmovdqa32 %%zmm" #n ", 64*(" #n "-16)(%0)%{%%k1%}\n\t" \
    "vpxord %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n\t"
#define RESTORE_UPPER(n)                       \
    "kmovw 1088 + 2*(" #n "-16)(%0), %%k1\n\t" \
    "vmovdqa32 64*(" #n "-16)(%0), %%zmm" #n "%{%%k1%}%{z%}\n\t"

static void save_upper(struct upper *area)
{
    __asm__ volatile(EIGHT(SAVE_MASK) UPPER_SIXTEEN(SAVE_UPPER) EIGHT(CLEAR_MASK)
                     :
                     : "r"(area)
                     : "memory");
}

static void restore_upper(const struct upper *area)
{
    __asm__ volatile(UPPER_SIXTEEN(RESTORE_UPPER) EIGHT(RESTORE_MASK) : : "r"(area) : "memory");
}

void save_vectors(struct fiber *fiber)
{
    fiber->form = in_use();
    if (UNLIKELY(fiber->form == WHOLE)) {
        save_all(fiber);
        return;
    }
    if (fiber->form == WITH_UPPER)
        save_upper((struct upper *)fiber->vectors);
    if (UNLIKELY(has_keys))
        fiber->keys = keys();
    __asm__ volatile("stmxcsr %0\n\t"
                     "movaps %%xmm0, (%1)\n\tmovaps %%xmm1, 16(%1)\n\t"
                     "movaps %%xmm2, 32(%1)\n\tmovaps %%xmm3, 48(%1)\n\t"
                     "movaps %%xmm4, 64(%1)\n\tmovaps %%xmm5, 80(%1)\n\t"
                     "movaps %%xmm6, 96(%1)\n\tmovaps %%xmm7, 112(%1)\n\t"
                     "movaps %%xmm8, 128(%1)\n\tmovaps %%xmm9, 144(%1)\n\t"
                     "movaps %%xmm10, 160(%1)\n\tmovaps %%xmm11, 176(%1)\n\t"
                     "movaps %%xmm12, 192(%1)\n\tmovaps %%xmm13, 208(%1)\n\t"
                     "movaps %%xmm14, 224(%1)\n\tmovaps %%xmm15, 240(%1)"
                     : "=m"(fiber->control)
                     : "r"(fiber->registers)
                     : "memory");
}

void restore_vectors(const struct fiber *fiber)
{
    if (UNLIKELY(fiber->form == WHOLE)) {
        const uint8_t *area = fiber->vectors + XSAVE_AREA;
        __asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
        return;
    }
    if (fiber->form == WITH_UPPER)
        restore_upper((const struct upper *)fiber->vectors);
    if (UNLIKELY(has_keys) && keys() != fiber->keys)
        __asm__ volatile("wrpkru" : : "a"(fiber->keys), "c"(0), "d"(0) : "memory");
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
                     : "m"(fiber->control), "r"(fiber->registers)
                     : "memory");
}

bool prepare_vectors(void)
{
    uint32_t a, size, c, d;
    uint32_t extensions;
    __cpuid_count(7, 0, a, extensions, c, d);
    has_keys = (c & KEYS_ARE_ON) != 0;
    __cpuid_count(0xd, 1, a, size, c, d);
    compacts = (a & CAN_COMPACT) != 0;
    tells = (a & TELLS_IN_USE) != 0;
    if (compacts)
        initial.format = 1ul << 63;
    __cpuid_count(0xd, 0, a, size, c, d);
    has_upper = (a & UPPER) != 0 && (extensions & HAS_WIDE_MASKS) != 0 &&
                (extensions & HAS_VECTOR_LENGTHS) != 0;
    vectors_size = XSAVE_AREA + (((size_t)size + 63) & ~(size_t)63);
    return size != 0;
}
