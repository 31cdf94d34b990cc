"""Searches many traces for many machines, as tasks on Dask, and compares what comes of them.

A task is one `corehop partition`: one trace, one machine, one number of cores, one objective. The
tasks know nothing of each other, so workers may come, go and die: a task whose worker is lost is
run by another. What a task found is a file named by all that it depends on, so a second run does
only what is missing. One Parquet file and one page hold all of it in the end.

`work.py` is what workers run. It is sent to them with the tasks, so a worker needs Dask and the
corehop program, and not this package.
"""
