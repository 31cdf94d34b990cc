#!/usr/bin/python3
"""Run a command under the seccomp filters of a systemd unit, where systemd does not run.

    unit_filters.py [--allow CALL] [--allow-writable-code] UNIT -- COMMAND...

The filters are those that systemd makes of the unit's settings (systemd.exec(5)): SystemCallFilter
(a list of allowed calls, some groups of which are taken out; others end the process),
MemoryDenyWriteExecute, RestrictNamespaces, RestrictRealtime, RestrictAddressFamilies, and
LockPersonality. Mounts, rights, and limits of the unit are not imitated. `--allow` and
`--allow-writable-code` are the drop-in's SystemCallFilter=CALL and MemoryDenyWriteExecute=no. It
needs python3-seccomp, and systemd-analyze for the groups.
"""

import argparse
import errno
import os
import subprocess
import sys
from pathlib import Path

from seccomp import (  # type: ignore[import-not-found,unused-ignore]
    ALLOW,
    EQ,
    ERRNO,
    GT,
    KILL_PROCESS,
    MASKED_EQ,
    NE,
    Arg,
    SyscallFilter,
)

UNITS = Path("/lib/systemd/system")
REFUSED = ERRNO(errno.EPERM)
PROT_WRITE_EXEC, PROT_EXEC, SHM_EXEC = 6, 4, 0o100000
# Time, control groups, mounts, UTS, IPC, users, processes, and the network.
NAMESPACES = [1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30)]
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
LAST_FAMILY = 45


def settings(unit: str) -> dict[str, list[str]]:
    """Return the unit's settings; one may be there several times."""
    found: dict[str, list[str]] = {}
    for line in (UNITS / f"{unit}.service").read_text().splitlines():
        key, is_setting, value = line.partition("=")
        if is_setting and not line.startswith("#"):
            found.setdefault(key, []).append(value.strip())
    return found


def calls(names: list[str]) -> set[str]:
    """Return the calls of these names, of which those with an @ are groups."""
    found: set[str] = set()
    for name in names:
        if not name.startswith("@"):
            found.add(name)
            continue
        command = ["systemd-analyze", "syscall-filter", name]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        members = [line.strip() for line in lines.splitlines()[1:]]
        found |= calls([member for member in members if member and not member.startswith("#")])
    return found


def restrict(unit: dict[str, list[str]], *, writable_code: bool) -> list[str]:
    """Load the filters that refuse, and return their settings."""
    rules = SyscallFilter(ALLOW)
    told = [
        key
        for key in ("RestrictRealtime", "RestrictNamespaces", "LockPersonality")
        if unit.get(key) == ["true"]
    ]
    if "RestrictRealtime" in told:
        for policy in (Arg(1, EQ, 1), Arg(1, EQ, 2), Arg(1, GT, 5)):
            rules.add_rule(REFUSED, "sched_setscheduler", policy)
    if "RestrictNamespaces" in told:
        for call in ("unshare", "clone"):
            for flag in NAMESPACES:
                rules.add_rule(REFUSED, call, Arg(0, MASKED_EQ, flag, flag))
        rules.add_rule(REFUSED, "setns")
        rules.add_rule(ERRNO(errno.ENOSYS), "clone3")
    if "LockPersonality" in told:
        rules.add_rule(REFUSED, "personality", Arg(0, NE, 0))
    if unit.get("MemoryDenyWriteExecute") == ["true"] and not writable_code:
        told.append("MemoryDenyWriteExecute")
        both = Arg(2, MASKED_EQ, PROT_WRITE_EXEC, PROT_WRITE_EXEC)
        rules.add_rule(REFUSED, "mmap", both)
        for call in ("mprotect", "pkey_mprotect"):
            rules.add_rule(REFUSED, call, Arg(2, MASKED_EQ, PROT_EXEC, PROT_EXEC))
        rules.add_rule(REFUSED, "shmat", Arg(2, MASKED_EQ, SHM_EXEC, SHM_EXEC))
    for families in unit.get("RestrictAddressFamilies", []):
        told.append("RestrictAddressFamilies")
        allowed = {FAMILIES[family] for family in families.split()}
        for family in set(range(1, LAST_FAMILY + 1)) - allowed:
            rules.add_rule(ERRNO(errno.EAFNOSUPPORT), "socket", Arg(0, EQ, family))
    rules.load()
    return told


def end_for_others(unit: dict[str, list[str]], allow: list[str]) -> list[str]:
    """Load the filter that ends the process for calls that are not allowed, if there is one."""
    lists = unit.get("SystemCallFilter", [])
    if not lists:
        return []
    # systemd adds these to each list of allowed calls.
    allowed = calls(["@default", "execve"])
    for names in lists:
        if names.startswith("~"):
            allowed -= calls(names[1:].split())
        else:
            allowed |= calls(names.split())
    rules = SyscallFilter(KILL_PROCESS)
    for call in sorted(allowed | set(allow)):
        try:
            rules.add_rule(ALLOW, call)
        except (OSError, RuntimeError):
            continue  # Calls of other processors, or newer than libseccomp.
    rules.load()
    return ["SystemCallFilter"]


def main() -> None:
    """Load the filters, and become the command."""
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--allow-writable-code", action="store_true")
    parser.add_argument("unit")
    asked = parser.parse_args(sys.argv[1:split])
    command = sys.argv[split + 1 :]
    unit = settings(asked.unit)
    told = restrict(unit, writable_code=asked.allow_writable_code)
    told += end_for_others(unit, asked.allow)
    print(f"{asked.unit}: {', '.join(told)}", file=sys.stderr)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
