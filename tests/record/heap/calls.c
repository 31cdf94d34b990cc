/* Calls allocators in many ways, and writes to the file `log` what each made or ended: three
 * numbers each, which are 1 or 0, an address, and a size. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *new_object(size_t size) __asm__("_Znwm");
void *new_array(size_t size) __asm__("_Znam");
void delete_object(void *object) __asm__("_ZdlPv");

enum { PAGE = 4096 };
static struct { uint64_t begins, address, size; } events[8192];
static int count;
static jmp_buf left;

static void *made(void *object, size_t size) {
    events[count].begins = 1;
    events[count].address = (uintptr_t)object;
    events[count++].size = size;
    return object;
}

/* With size 0, the object that begins there. */
static void *ended(void *object, size_t size) {
    events[count].address = (uintptr_t)object;
    events[count++].size = size;
    return object;
}

/* Named as an allocator: what it calls makes no object. */
void *pool(long kind, size_t size) {
    char *block = malloc(size + 16 + kind);
    free(malloc(8));
    return block + 16;
}

/* Named as an allocator, but never returns. */
void *leaves(size_t size) {
    longjmp(left, (int)size);
}

/* Makes an object deeper in the stack. */
static void *deeper(size_t size) {
    volatile char room[200];
    room[size] = 1;
    return made(malloc(size), size);
}

static void *none(size_t size) {
    return size ? &events : 0;
}

/* Calls allocators from a place that something else has returned to before. */
static void late(void) {
    void *(*volatile functions[])(size_t) = {none, malloc, malloc};
    for (int place = 0; place < 3; place++) {
        void *object = functions[place](48);
        if (place > 0) {
            free(ended(deeper(32), 0));
            free(object);
        }
    }
}

static void of_libc(long round) {
    char *one = made(malloc(100 + round), 100 + round);
    one = made(realloc(ended(one, 0), 5000), 5000);
    /* A call that fails leaves the object. */
    if (realloc(made(ended(one, 0), 5000), SIZE_MAX / 4) != 0) abort();
    one = made(reallocarray(ended(one, 0), 30, 7), 210);
    void *aligned = made(aligned_alloc(64, 128), 128);
    void *stored;
    if (posix_memalign(&stored, 128, 300) != 0) abort();
    made(stored, 300);
    if (posix_memalign(&stored, 3, 300) == 0) abort();
    void *old = made(memalign(32, 40), 40);
    void *empty = made(malloc(0), 0);
    void *zeroed = made(calloc(5, 9), 45);
    free(ended(aligned, 0));
    free(ended(zeroed, 0));
    free(ended(one, 0));
    free(ended(old, 0));
    free(0);
    free(ended(empty, 0));
    free(ended(stored, 0));
    free(ended(made(realloc(0, 60), 60), 0));
    if (realloc(ended(made(malloc(30), 30), 0), 0) != 0) abort();
}

static void of_others(void) {
    void *object = made(new_object(33), 33), *array = made(new_array(44), 44);
    delete_object(ended(object, 0));
    delete_object(ended(array, 0));
    char *pages = mmap(0, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    made(pages, 4 * PAGE);
    munmap(ended(pages + PAGE, PAGE), PAGE);
    munmap(ended(pages, 4 * PAGE), 4 * PAGE);
    if (setjmp(left) == 0) leaves(70);
    free(ended(deeper(50), 0));
    made(pool(1, 90), 90);
}

long serve(long round) {
    of_libc(round);
    of_others();
    late();
    return round;
}

int main(void) {
    long sum = 0;
    void *before = made(malloc(24), 24);
    free(ended(made(malloc(25), 25), 0));
    of_libc(0);
    for (long round = 0; round < 6; round++) sum += serve(round);
    free(ended(before, 0));
    int log = open("log", O_WRONLY | O_CREAT, 0600);
    ssize_t size = (ssize_t)(count * sizeof *events);
    return write(log, events, (size_t)size) != size || sum == 1;
}
