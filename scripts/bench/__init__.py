"""Times replays of two recordings, and other simulators beside them: `make bench-replay`.

Our own figures come from benches/replay.rs, whose ways to replay take turns; here are the set-up,
the other simulators, and the table.
"""
