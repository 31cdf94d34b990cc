/* A hash table that grows: places that make few large objects and many small ones. */
#include <stdlib.h>

struct entry {
    struct entry *next;
    volatile long *key;
};

static struct entry **buckets;
static size_t size;

static void grow(size_t wanted) {
    struct entry **larger = calloc(wanted, sizeof *larger);
    for (size_t place = 0; place < size; place++) {
        struct entry *entry = buckets[place];
        while (entry) {
            struct entry *next = entry->next;
            size_t to = (size_t)entry->key[0] % wanted;
            entry->next = larger[to];
            larger[to] = entry;
            entry = next;
        }
    }
    free(buckets);
    buckets = larger;
    size = wanted;
}

static volatile long *key_of(long number) {
    volatile long *key = aligned_alloc(16, 48);
    for (int place = 0; place < 6; place++) key[place] = number * 31 + place;
    return key;
}

static void insert(long number) {
    struct entry *entry = malloc(sizeof *entry);
    entry->key = key_of(number);
    size_t to = (size_t)entry->key[0] % size;
    entry->next = buckets[to];
    buckets[to] = entry;
}

static long find(long number) {
    long seen = 0;
    for (struct entry *entry = buckets[(size_t)(number * 31) % size]; entry; entry = entry->next)
        seen += entry->key[0] == number * 31;
    return seen;
}

int main(void) {
    long found = 0;
    grow(4);
    for (long number = 0; number < 200; number++) {
        if (number == (long)size * 4) grow(size * 2);
        insert(number);
        found += find(number / 2);
    }
    return found != 200;
}
