"""Searches many traces for many machines, as tasks on Dask, and compares the results.

A task is one `corehop partition`: one trace, one machine, one number of cores, one objective. Tasks
are independent, so workers may join, leave, and fail: another worker runs a task whose worker is
lost. The result of a task is a file named by all its inputs, so a second run only does what is
missing. At the end, one Parquet file and one page contain all results.

`work.py` is what workers run. It is sent to them with the tasks, so a worker needs Dask and the
corehop program, but not this package.
"""
