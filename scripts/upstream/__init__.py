"""Runs the upstream tests of servers on their patched programs: `make test-transparent`.

A suite's unit is one file of its tests. Each runs on the original first, then on the patched
program with every way to hop; what fails on the original too is not held against the patched one.

With `count` every entry that may be patched is hooked. What that counts of a unit decides what the
other two hook for it: all but the functions that it calls most often. A suite that makes a billion
hops of some microseconds would take hours, and its tests give up on a server that answers so late.
"""
