/*
 * Which CPUs a thread may run on, as the program sets and sees it.
 *
 * A thread whose mask the program sets stays there and is no longer moved, whether by a call or by
 * the attributes with which it starts. A program that asks for the mask of a thread that hops by
 * affinity gets its own mask, not that of the hop.
 */
#define _GNU_SOURCE
#include "places.h"
#include "affinity.h"
#include "credentials.h"
#include "home.h"
#include "originals.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* The kernel's id of a thread, which libc does not give: the thread's clock has it. */
static int id_of(uintptr_t thread)
{
    clockid_t clock;
    if (thread == (uintptr_t)(int)thread)
        return (int)thread;
    return pthread_getcpuclockid((pthread_t)thread, &clock) == 0 ? ~(clock >> 3) : 0;
}

void place(uintptr_t thread)
{
    if (is_itself(thread)) {
        stay_for_good();
        note_placed(gettid());
    } else {
        keep_another_home(thread);
        note_placed(id_of(thread));
    }
}

bool are_placing(const pthread_attr_t *attributes)
{
    cpu_set_t set, every;
    pthread_attr_t unset;
    if (attributes == NULL) {
        if (pthread_getattr_default_np(&unset) != 0)
            return false;
        bool result = are_placing(&unset);
        pthread_attr_destroy(&unset);
        return result;
    }
    /* Without a set, libc gives a full one. pthread_getattr_np() sets the program's own. */
    memset(&every, 0xff, sizeof every);
    return pthread_attr_getaffinity_np(attributes, sizeof set, &set) != 0 ||
           (memcmp(&set, &every, sizeof set) != 0 && memcmp(&set, &own_mask, sizeof set) != 0);
}

void show_own_mask(uintptr_t thread, size_t size, void *found)
{
    struct mask mask = {{0}};
    size = size < mask_size ? size : mask_size;
    if (is_itself(thread))
        return;
    memcpy(&mask, found, size);
    if (affinity_hides(id_of(thread), &mask))
        memcpy(found, &own_mask, size);
}

typedef int query_function(uintptr_t, size_t, void *);

static int query(void **kept, const char *name, uintptr_t thread, size_t size, void *found)
{
    stay_home();
    affinity_release();
    int result = ((query_function *)original(kept, name))(thread, size, found);
    if (result == 0)
        show_own_mask(thread, size, found);
    return result;
}

/* Assembler names define these: the prototypes here differ from those in the headers. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int caught_sched_getaffinity(int, size_t, void *) __asm__("sched_getaffinity");
int caught_sched_getaffinity(int thread, size_t size, void *found)
{
    static void *kept;
    return query(&kept, "sched_getaffinity", (uintptr_t)thread, size, found);
}

EXPORT int caught_pthread_getaffinity(uintptr_t, size_t, void *) __asm__("pthread_getaffinity_np");
int caught_pthread_getaffinity(uintptr_t thread, size_t size, void *found)
{
    static void *kept;
    return query(&kept, "pthread_getaffinity_np", thread, size, found);
}
