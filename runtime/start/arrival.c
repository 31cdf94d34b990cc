/*
 * Notifies the runtime that a patched library was loaded, and that it will be unloaded.
 *
 * A library may be loaded at any time, by dlopen(), long after the runtime's own constructor. So
 * each patched library needs a copy of this library, under a separate name. Its constructor and
 * destructor run whenever those of the patched library do. Rejected: an entry in the patched
 * library's own DT_INIT, which could call the runtime only through a symbol and a relocation added
 * to its tables.
 */
void corehop_module_arrives(void);
void corehop_module_leaves(const void *inside);

__attribute__((constructor)) static void arrive(void)
{
    corehop_module_arrives();
}

__attribute__((destructor)) static void leave(void)
{
    corehop_module_leaves((const void *)leave);
}
