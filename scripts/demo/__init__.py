"""The demo: record MariaDB under TPC-C, find splits, patch mariadbd, run it, compare.

Every step leaves its outputs in scratch/demo and is skipped while its inputs stay the same.
"""
