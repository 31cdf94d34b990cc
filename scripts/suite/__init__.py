"""All tests of the repository, of Rust and of Python, run side by side and counted together.

nextest runs the tests of Rust, each as a process of its own. It cannot skip a test while it runs.
So tests that need what a machine may lack are in modules named `needs_...`: what is missing is
found once, before (`needs`), and the tests that need it are left out and counted as skipped.
"""
