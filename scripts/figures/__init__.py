"""The figures of the experiments: kept as the benches printed them, and copied into the pages."""
