"""All tests of the repository, in Rust and Python, run in parallel and counted together.

nextest runs each Rust test in a separate process. It cannot skip a test during the run. Tests with
optional requirements are therefore in modules named `needs_...`. Missing requirements are found
once before the run (`needs`), and the tests that need them are counted as skipped.
"""
