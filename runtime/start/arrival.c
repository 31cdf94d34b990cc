/*
 * Tells the runtime that a patched library was loaded, and that it is about to go.
 *
 * A library may come at any time, by dlopen(), when the runtime's own constructor has long run.
 * So each patched library needs a copy of this one, under a name of its own, whose constructor and
 * destructor run whenever the library's do. Rejected: an entry in the library's own DT_INIT, which
 * could call the runtime only through a symbol and a relocation added to its tables.
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
