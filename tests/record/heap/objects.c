/* Objects of several places, with accesses of 8 bytes that no libc function makes. */
#include <stdlib.h>

struct node {
    struct node *next;
    long values[5];
};

static struct node *make(struct node *next, long value) {
    struct node *node = malloc(sizeof *node);
    node->next = next;
    node->values[2] = value;
    return node;
}

static inline __attribute__((always_inline)) volatile long *table_of(long rows) {
    return calloc((size_t)rows, sizeof(long));
}

static long walk(struct node *node) {
    long sum = 0;
    for (; node; node = node->next) sum += node->values[2];
    return sum;
}

int main(void) {
    long sum = 0;
    struct node *head = 0;
    volatile long *aligned;
    for (long round = 0; round < 30; round++) {
        head = make(head, round);
        volatile long *table = table_of(1 + round);
        for (long row = 0; row <= round; row++) table[row] += sum;
        if (posix_memalign((void **)&aligned, 64, 80) != 0) abort();
        for (long row = 0; row < 10; row++) aligned[row] = row;
        sum += walk(head) + aligned[3];
        if (round % 3 == 0) {
            struct node *first = head;
            head = head->next;
            free(first);
        }
        free((void *)table);
        free((void *)aligned);
    }
    return sum == 1;
}
