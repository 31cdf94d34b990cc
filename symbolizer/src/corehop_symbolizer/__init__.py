"""The functions of an x86-64 ELF file: entry, size, name.

A recorded address means little without its function, and a distribution's servers are stripped.
So the functions are the union of .symtab, .dynsym and the frame descriptions in .eh_frame, which
every C++ program needs for exceptions. Read `functions.py` next.
"""

FORMAT_VERSION = 1
"""Version of what is printed and cached; a change of meaning makes old cache entries void."""
