/*
 * Orders to a running server: COREHOP_CONTROL is the path of a file that contains a backend's name.
 *
 * Writing "off" into the file is the kill switch; the name of any other backend switches to it. A
 * few times a second, the watchdog checks whether the file was written. If so, it switches and has
 * the statistics written, so touching the file requests statistics. With COREHOP_SIGNAL=12 (a
 * number), that signal requests them at once. Without a file, the signal switches between off and
 * the backend with which the program started. Threads switch at their next hook. Rejected: a
 * socket, which would need an answer and a place in the server's own loop.
 */
#define _GNU_SOURCE
#include "control.h"
#include "auto.h"
#include "backends.h"
#include "cores.h"
#include "statistics.h"
#include "watchdog.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path;
static const struct backend *first;
static uint32_t asked;
/* The file's status when it was last obeyed. */
static struct stat seen;
/* The file existed at the start and has not been read: its name counts, but requests no statistics.
 */
static bool is_as_found;
/* This was reported. The file is tried again, since its mode may change. */
static bool is_unreadable;

static void ask(int number)
{
    (void)number;
    __atomic_store_n(&asked, 1, __ATOMIC_SEQ_CST);
    wake_watchdog();
}

bool control_is_asked(void)
{
    return __atomic_load_n(&asked, __ATOMIC_SEQ_CST) != 0;
}

void prepare_control(void)
{
    const char *file = secure_getenv("COREHOP_CONTROL"), *number = secure_getenv("COREHOP_SIGNAL");
    char folder[PATH_MAX], *absolute;
    if (file != NULL && *file == '/')
        path = strdup(file);
    else if (file != NULL && *file != '\0' && getcwd(folder, sizeof folder) != NULL &&
             asprintf(&absolute, "%s/%s", folder, file) >= 0)
        path = absolute;
    program.is_controlled = path != NULL;
    if (number == NULL || *number == '\0')
        return;
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    char *end;
    long chosen = strtol(number, &end, 10);
    if (*end == '\0' && chosen > 0 && chosen <= SIGRTMAX && chosen != POKE &&
        sigaction((int)chosen, &action, NULL) == 0)
        program.is_controlled = true;
    else
        complain("COREHOP_SIGNAL=%s is not the number of a signal that can be caught, such as 12: "
                 "no signal is obeyed",
                 number);
}

/* Whether the folder exists in which the file may appear. */
static bool has_folder(void)
{
    struct stat folder;
    char name[PATH_MAX];
    size_t end = (size_t)(strrchr(path, '/') - path) + 1;
    if (end >= sizeof name)
        return false;
    memcpy(name, path, end);
    name[end] = '\0';
    return system_call(__NR_stat, (long)name, (long)&folder, 0, 0, 0, 0) == 0;
}

static void check_path(void)
{
    struct stat now;
    is_as_found = system_call(__NR_stat, (long)path, (long)&now, 0, 0, 0, 0) == 0;
    if (is_as_found && S_ISDIR(now.st_mode))
        complain("COREHOP_CONTROL=%s is a folder: name a file in it; no order is obeyed", path);
    else if (!is_as_found && !has_folder())
        complain("COREHOP_CONTROL=%s: its folder does not exist: no order is obeyed until it does",
                 path);
}

void start_control(const struct backend *starts_with)
{
    first = starts_with;
    if (path != NULL)
        check_path();
    if (control_is_on() && !start_watchdog())
        complain("no thread for COREHOP_CONTROL and COREHOP_SIGNAL: neither is obeyed");
}

static const struct backend *current(void)
{
    return auto_is_on() ? &auto_backend : program.backend;
}

static void switch_to(const char *name)
{
    const struct backend *backend = backend_called(name);
    if (backend == NULL)
        complain("%s: %s is none of affinity, auto, carrier, count, off: going on as before", path,
                 name);
    else if (!backend_is_usable(backend))
        complain("%s: %s cannot be used here: going on as before", path, name);
    else if (backend != current())
        choose_backend(backend);
}

/* Obeys the file if it was written since, or if a signal requests it. */
static void read_file(void)
{
    struct stat now;
    char name[32];
    if (system_call(__NR_stat, (long)path, (long)&now, 0, 0, 0, 0) < 0)
        return;
    bool same = now.st_ino == seen.st_ino && now.st_size == seen.st_size &&
                now.st_mtim.tv_sec == seen.st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec;
    if (same)
        return;
    /* The watchdog must not block on a pipe that no process ever opens for writing. */
    int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    long file = system_call(__NR_open, (long)path, how, 0, 0, 0, 0);
    if (file == -EACCES && !is_unreadable)
        complain("%s: the server may not read it: going on as before", path);
    is_unreadable = file == -EACCES;
    if (file < 0)
        return;
    long length = system_call(__NR_read, file, (long)name, sizeof name - 1, 0, 0, 0);
    system_call(__NR_close, file, 0, 0, 0, 0, 0);
    size_t end = 0;
    while (end < (length > 0 ? (size_t)length : 0) && name[end] > ' ')
        end++;
    name[end] = '\0';
    seen = now;
    if (end != 0)
        switch_to(name);
    if (!is_as_found)
        write_statistics();
    is_as_found = false;
}

void look_at_control(void)
{
    bool on_request = __atomic_exchange_n(&asked, 0, __ATOMIC_SEQ_CST) != 0;
    if (path != NULL)
        read_file();
    else if (on_request)
        choose_backend(current() == &off_backend ? first : &off_backend);
    if (on_request)
        write_statistics();
}

/* The watchdog does not exist in a forked child. */
void control_forked(void)
{
    if (control_is_on())
        start_watchdog();
}
