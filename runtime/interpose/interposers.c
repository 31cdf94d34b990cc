/*
 * Calls that must not run on a carrier: the thread goes home, then makes them.
 *
 * State that the kernel keeps per thread is right only at home: signal mask, alternate stack,
 * priority, and what a new program inherits. interposed.h lists the calls, and interposers.S
 * interposes them. A thread's end is detected by wrapping its start function. Threads that libc
 * starts for itself are not detected, so they never leave home. gettid() returns home's id. Mutexes
 * with priority inheritance hold the kernel's id of their owner, which changes with each hop: they
 * switch the process to affinity for good.
 *
 * Rejected: to intercept system calls by seccomp or ptrace, which slows each one down.
 */
#define _GNU_SOURCE
#include "interposers.h"
#include "affinity.h"
#include "bare.h"
#include "calls.h"
#include "carrier.h"
#include "credentials.h"
#include "fibers.h"
#include "forks.h"
#include "handlers.h"
#include "home.h"
#include "originals.h"
#include "places.h"
#include "posted.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <string.h>
#include <sys/socket.h>

enum rule {
    HOME_FIRST,
    HOME_IF_OWN,     /* if the first argument is the calling thread */
    HOME_TO_OWN,     /* if the second one makes the calling thread a file's owner */
    UNPINNED,        /* home first; if affinity pins the thread, on all of its CPUs */
    PLACES_A_THREAD, /* likewise; a thread that places itself is no longer moved */
    HOME_FOR_GOOD,
    HOME_INHERITED,  /* likewise, and so do threads that it starts */
    APART,           /* for good, unless it is the only thread: then the process changes */
    APART_INHERITED, /* likewise, and so do threads that it starts */
    APART_IF_OWN,    /* as APART, if the first argument is the calling thread */
    RING_BY_FLAGS,   /* for good, if the third argument ties a ring to the calling thread */
    RING_BY_SECOND,  /* likewise, if the flags are where the second one points */
    RING_BY_THIRD,
    HOME_IF_SAVING,
    HOME_IF_RESTORING,
    LEAVES_CALLS, /* an exception has reached its caller, past calls and handlers */
    CLONES,       /* for good; prepares a child with separate memory likewise */
    NOTES_OPTION, /* of a socket, by the second and third argument */
    AS_FORK,      /* the child must learn that it has no carriers, as for fork() */
};

static const struct {
    const char *name;
    enum rule rule;
} interposed_calls[] = {
#define INTERPOSED(name, rule) {#name, rule},
#include "interposed.h"
};

/* The index in glibc's jump buffers. */
#define STACK_POINTER 6
/* No stack is larger. */
#define MOST_STACK (1ul << 36)

static void *fork_itself;
static void *originals[sizeof interposed_calls / sizeof *interposed_calls];

/* Where the stack will end once a jump buffer's owner continues, as glibc stores it; 0 if it does
 * not look like an address further up this stack. */
static uintptr_t stack_of(const struct __jmp_buf_tag *buffer, uintptr_t at)
{
    uintptr_t place = (uintptr_t)buffer->__jmpbuf[STACK_POINTER];
    __asm__("rorq $17, %0\n\txorq %%fs:48, %0" : "+r"(place) : : "cc");
    return place > at && place - at < MOST_STACK ? place : 0;
}

/* Whether a call makes the calling thread differ, for the kernel, from the other threads. */
static bool sets_apart(enum rule rule, uintptr_t first, uintptr_t second, uintptr_t third)
{
    switch (rule) {
    case APART:
        return true;
    case APART_IF_OWN:
        return is_itself(first);
    case RING_BY_FLAGS:
        return ties_a_ring((uint32_t)third);
    case RING_BY_SECOND:
        return is_tied((const void *)second);
    case RING_BY_THIRD:
        return is_tied((const void *)third);
    default:
        return false;
    }
}

/* The function that a child of clone() runs. It has its parent's memory, or a copy at the same
 * address. */
static __thread struct {
    int (*run)(void *);
    void *argument;
} cloned __attribute__((tls_model("initial-exec")));

static int run_cloned(void *unused)
{
    (void)unused;
    process_forked();
    return cloned.run(cloned.argument);
}

/* Offsets of the first and fourth arguments that interposers.S has saved, from the return address.
 */
#define FIRST_ARGUMENT (-2)
#define FOURTH_ARGUMENT (-5)

/* Lets a child of clone() first find out that it has no carriers. */
static void prepare_child(uintptr_t *at)
{
    cloned.run = (int (*)(void *))at[FIRST_ARGUMENT];
    cloned.argument = (void *)at[FOURTH_ARGUMENT];
    at[FIRST_ARGUMENT] = (uintptr_t)run_cloned;
}

static void *found_in(const char *library, const char *name)
{
    void *module = dlopen(library, RTLD_LAZY | RTLD_NOLOAD), *found = NULL;
    if (module != NULL) {
        found = dlsym(module, name);
        dlclose(module);
    }
    bool is_own =
        (uintptr_t)found >= (uintptr_t)runtime_start && (uintptr_t)found < (uintptr_t)runtime_end;
    return is_own ? NULL : found;
}

/* A program without exceptions may load a library with exceptions and its dependencies. Then only
 * the library can find the symbols. */
static void *original_for(uint32_t index, const void *caller)
{
    const char *name = interposed_calls[index].name;
    struct link_map *map;
    Dl_info info;
    void *found = originals[index];
    if (LIKELY(found != NULL))
        return found;
    if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0)
        found = found_in(map->l_name, name);
    if (found == NULL)
        found = found_in("libstdc++.so.6", name);
    return found != NULL ? found : original(&originals[index], name);
}

static long not_in_libc(void)
{
    errno = ENOSYS;
    return -1;
}

/* interposers.S calls it with a call's first three arguments and the address of its return address.
 */
__attribute__((visibility("hidden"))) void *
interposed_call(uint32_t index, uintptr_t first, uintptr_t second, uintptr_t at, uintptr_t third)
{
    enum rule rule = interposed_calls[index].rule;
    if (rule == LEAVES_CALLS) {
        leave_handlers(at + 1);
        leave_below(at + 1);
        return original_for(index, *(void **)at);
    }
    bool masks = rule == HOME_IF_RESTORING && ((struct __jmp_buf_tag *)first)->__mask_was_saved;
    if (rule == AS_FORK && carriers_are_possible())
        return original(&fork_itself, "fork");
    if (rule == UNPINNED || rule == PLACES_A_THREAD || rule == AS_FORK)
        affinity_release();
    if (rule == HOME_FOR_GOOD || rule == CLONES)
        stay_for_good();
    if (rule == PLACES_A_THREAD)
        place(first);
    if (rule == HOME_INHERITED)
        stay_inherited();
    if (rule == APART_INHERITED)
        stay_apart_inherited();
    if (rule == CLONES && (third & CLONE_VM) == 0)
        prepare_child((uintptr_t *)at);
    if (UNLIKELY(sets_apart(rule, first, second, third)))
        stay_apart();
    else if (rule == APART_IF_OWN)
        keep_another_home(first);
    if (rule == HOME_IF_RESTORING) {
        uintptr_t to = stack_of((struct __jmp_buf_tag *)first, at);
        leave_below(to);
        leave_handlers(to);
    }
    if (rule == NOTES_OPTION && (int)second == SOL_SOCKET && (int)third == SO_RCVLOWAT)
        expect_low_water_marks();
    if (rule == HOME_FIRST || masks)
        mask_may_differ();
    if (UNLIKELY(self.fiber != NULL)) {
        bool is_own = (rule == HOME_IF_OWN && first == self.fiber->thread_base) ||
                      (rule == HOME_TO_OWN && takes_signals_of_files(second));
        bool is_first = rule == HOME_FIRST || rule == UNPINNED || rule == PLACES_A_THREAD || masks;
        if (is_first || is_own || (rule == HOME_IF_SAVING && (int)second != 0))
            go_home(self.fiber);
    }
    void *found = __atomic_load_n(&originals[index], __ATOMIC_RELAXED);
    if (UNLIKELY(found == NULL))
        found = dlsym(RTLD_NEXT, interposed_calls[index].name);
    /* A program may check whether such a function exists, and finds ours. */
    return found != NULL ? found : (void *)not_in_libc;
}

/* Looked up at the start, so that no lookup happens in a signal handler. Functions that an older
 * libc lacks are never called. */
void prepare_interposers(void)
{
    for (size_t i = 0; i < sizeof interposed_calls / sizeof *interposed_calls; i++)
        originals[i] = dlsym(RTLD_NEXT, interposed_calls[i].name);
}

struct beginning {
    void *(*run)(void *);
    void *argument;
    uint32_t taken;
    bool is_inherited; /* the thread stays home, as the one that starts it */
    bool is_placed;    /* likewise, on the CPUs of its attributes */
};

/* The start functions of threads that are about to begin. The new thread gives its slot back
 * without free(), which would make glibc's malloc map an arena of 64 MB for a thread that needs
 * none. */
#define BEGINNINGS 64
static struct beginning beginnings[BEGINNINGS];

static struct beginning *keep_beginning(struct beginning kept)
{
    for (size_t i = 0; i < BEGINNINGS; i++) {
        struct beginning *beginning = &beginnings[i];
        if (__atomic_exchange_n(&beginning->taken, 1, __ATOMIC_ACQUIRE) == 0) {
            *beginning = kept;
            return beginning;
        }
    }
    struct beginning *beginning = map_memory(sizeof *beginning);
    if (beginning != NULL)
        *beginning = kept;
    return beginning;
}

static void give_back(struct beginning *beginning)
{
    if (beginning >= beginnings && beginning < beginnings + BEGINNINGS)
        __atomic_store_n(&beginning->taken, 0, __ATOMIC_RELEASE);
    else
        system_call(__NR_munmap, (long)beginning, sizeof *beginning, 0, 0, 0, 0);
}

static void end(void *unused)
{
    (void)unused;
    self.bound = self.stopped = true;
    forget_calls();
    if (self.fiber == NULL)
        return;
    go_home(self.fiber);
    discharge(self.fiber);
    self.fiber = NULL;
}

/* The start function of a new thread. Returning, exiting and being cancelled all lead through
 * end(). */
static void *begin(void *argument)
{
    struct beginning beginning = *(struct beginning *)argument;
    void *volatile result;
    give_back(argument);
    self.followed = true;
    if (UNLIKELY(beginning.is_inherited))
        stay_inherited();
    if (UNLIKELY(beginning.is_placed))
        stay_for_good();
    pthread_cleanup_push(end, NULL);
    result = beginning.run(beginning.argument);
    pthread_cleanup_pop(1);
    return result;
}

#define EXPORT __attribute__((visibility("default")))

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    static void *kept;
    create_function *create = (create_function *)original(&kept, "pthread_create");
    bool is_placed = are_placing(attributes);
    struct beginning *beginning =
        keep_beginning((struct beginning){run, argument, 1, self.is_inherited, is_placed});
    if (beginning == NULL)
        return EAGAIN;
    stay_home();
    affinity_suspend();
    int result = create(thread, attributes, begin, beginning);
    affinity_resume();
    if (result != 0)
        give_back(beginning);
    return result;
}

/* Which of this library and libc comes first in the loader's order, which is also its search order.
 */
static int find_first(struct dl_phdr_info *object, size_t size, void *is_first)
{
    const char *name = strrchr(object->dlpi_name, '/');
    (void)size;
    for (uint32_t i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_addr + object->dlpi_phdr[i].p_vaddr == (uintptr_t)runtime_start)
            return *(bool *)is_first = true;
    return name != NULL && strncmp(name, "/libc.so.", 9) == 0;
}

/* Whether the program's calls of libc arrive here first, or behind another library that interposes
 * them. dlsym() does not show that: if a program at a fixed address takes a function's address, the
 * loader resolves that function to the program for everybody. */
bool stands_in_for_libc(void)
{
    bool is_first = false;
    dl_iterate_phdr(find_first, &is_first);
    return is_first;
}

/* libc's signal waits at home and arrives as soon as the thread is there. If the thread was called
 * home from a system call, it arrives within that call. */
EXPORT int pthread_cancel(pthread_t thread)
{
    static void *kept;
    bool is_own = is_itself((uintptr_t)thread);
    if (is_own)
        stay_for_good();
    else
        stay_home();
    int result = ((int (*)(pthread_t))original(&kept, "pthread_cancel"))(thread);
    if (!is_own)
        keep_another_home((uintptr_t)thread);
    return result;
}

EXPORT int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attributes, int protocol)
{
    static void *kept;
    if (protocol != PTHREAD_PRIO_NONE)
        give_up_now(CHANGES_PRIORITIES);
    int (*next)(pthread_mutexattr_t *, int) = original(&kept, "pthread_mutexattr_setprotocol");
    return next(attributes, protocol);
}

/* Unlike fork(), it calls no functions of pthread_atfork(), by which the child would learn that it
 * has no carriers. */
EXPORT int _Fork(void)
{
    static void *kept;
    int (*next)(void) = original(&kept, "_Fork");
    stay_home();
    affinity_release();
    int child = next();
    if (child == 0)
        process_forked();
    return child;
}

EXPORT int gettid(void)
{
    /* A child of clone() may have its parent's thread-local storage. */
    if (self.fiber != NULL && self.fiber->carrier != NULL)
        return self.fiber->home;
    return (int)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
}
