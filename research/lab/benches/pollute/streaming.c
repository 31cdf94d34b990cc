/*
 * A loop that streams through one array and uses another again: what a pollute buffer is for.
 *
 * The array that is used again has seven eighths of an L2 of 512 KiB, the other twice its size. A
 * round goes twice around the first, a touch a line, and once through the second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,
    PAGE = 4096,
    AGAIN = 448 << 10,
    STREAMED = 1 << 20,
    ROUNDS = 20,
};

static unsigned long go_around(const volatile unsigned char *array, size_t size) {
    unsigned long sum = 0;
    for (size_t at = 0; at < size; at += LINE) {
        sum += array[at];
    }
    return sum;
}

int main(void) {
    unsigned char *again = aligned_alloc(PAGE, AGAIN);
    unsigned char *streamed = aligned_alloc(PAGE, STREAMED);
    if (again == NULL || streamed == NULL) {
        return 1;
    }
    memset(again, 1, AGAIN);
    memset(streamed, 1, STREAMED);
    unsigned long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sum += go_around(again, AGAIN) + go_around(again, AGAIN);
        sum += go_around(streamed, STREAMED);
    }
    printf("%lu\n", sum);
    return 0;
}
