/*
 * What an item costs: a function that is inlined from another file.
 */
/* In .data: without a writable mapping of the file, Valgrind reads no DWARF. */
static volatile word prices[64] = {3};

static inline __attribute__((always_inline)) word price_of(word item)
{
    return prices[item % 64];
}
