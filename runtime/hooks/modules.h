/*
 * The files of the plan (modules.c), and the note that identifies them.
 */
#ifndef COREHOP_MODULES_H
#define COREHOP_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* The note that a patched file carries, as the patcher writes it (patcher/src/elf/note.rs).
 * Addresses are virtual addresses in the ELF file, without the load bias. */
#define NOTE_OWNER "corehop"
#define NOTE_RUNTIME 1

struct note {
    uint32_t abi;     /* COREHOP_ABI of the corehop that patched */
    uint32_t cores;   /* cores of the plan */
    uint32_t hooks;   /* entries of the table */
    uint32_t size;    /* of this struct: a later one may be longer */
    uint64_t slot;    /* where trampolines look for enter, leave and call_through; zeros */
    uint64_t table;   /* of struct hook */
    uint64_t names;   /* zero-terminated texts, one after the other */
    uint64_t modules; /* of struct planned: all the files that the plan names */
    uint32_t names_size;
    uint32_t plan;      /* checksum of the plan: equal in all files patched by it */
    uint32_t count;     /* entries of modules */
    uint32_t own;       /* this file's among them */
    uint32_t calls;     /* functions of the plan whose calls are delegated */
    uint32_t request;   /* the hook that counts requests, plus one; 0 if none does */
    uint32_t arguments; /* hooks of functions by an argument, or at single calls */
    uint32_t refusal;   /* distance of the reason why carriers refuse from names, plus one, or 0 */
};

/* One of the files of a plan. Hooks are numbered across all of them. */
struct planned {
    uint32_t first; /* hook */
    uint32_t hooks;
    uint32_t name;     /* distance of the file's name from note.names */
    uint32_t build_id; /* likewise, in hexadecimal */
};

/* Looks for patched files among those loaded; true if there are some and nothing is wrong. */
bool find_modules(void);
/* No file is patched; only system calls go to other cores. */
bool go_without_modules(uint32_t cores);
/* Points the trampolines of all files to `address`, once all files are present. */
void fill_slots(uintptr_t address);
void modules_forked(void);
/* Registers a file that was found hooked; false, after a message, if it does not belong to the
 * plan. */
bool admit(const struct note *note, uintptr_t bias, const char *path);
struct dl_phdr_info;
bool has_build_id(const struct dl_phdr_info *object, const char *expected);

#endif
