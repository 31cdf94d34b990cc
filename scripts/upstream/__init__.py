"""Runs the upstream tests of servers on their patched programs: `make test-transparent`.

A suite's unit is one file of its tests. Each runs on the original first, then on the patched
program with every backend. A test that also fails on the original does not count against the
patched program.

With `count`, every patchable entry is hooked. Its counts for a unit determine which functions the
other backends hook: all except the most frequently called ones. A suite with a billion hops of some
microseconds would take hours, and its tests give up on such a slow server.
"""
