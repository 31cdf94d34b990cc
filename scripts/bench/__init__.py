"""Times replays of two recordings, and other simulators for comparison: `make bench-replay`.

Our own figures come from benches/replay.rs, which alternates between its ways to replay. This
package has the set-up, the other simulators, and the table.
"""
