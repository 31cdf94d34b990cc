"""The paths of all files, and the settings of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MARIADBD = Path("/usr/sbin/mariadbd")
REDIS = Path("/usr/bin/redis-server")
MACHINE = "xeon-e5-2620-v4"


class StepError(Exception):
    """A step failed; the message states which one, why, and where to look."""


@dataclass(frozen=True)
class RedisLoad:
    """A load that walks two structures, each smaller than an L2 and both together larger."""

    folder: str
    """Its scripts, in `loads`."""

    title: str


DEEP_PAGES = RedisLoad("deep-pages", "deep pages of two sorted sets")
DEEP_LISTS = RedisLoad("deep-lists", "the middle of two lists")


@dataclass(frozen=True)
class Settings:
    """How much the demo does: every run executes the same transactions."""

    transactions: int = 46
    """Two decks of cards of the load, so that every type of transaction occurs."""

    scale: int = 30
    seed: int = 1


@dataclass(frozen=True)
class Layout:
    """The checkout and the demo's folder in it."""

    checkout: Path

    @classmethod
    def of_checkout(cls) -> Layout:
        """Find the checkout by this file."""
        return cls(Path(__file__).resolve().parent.parent.parent)

    @classmethod
    def here(cls) -> Layout:
        """Find the checkout and make the demo's folder in it."""
        layout = cls.of_checkout()
        layout.make_folders()
        return layout

    def make_folders(self) -> None:
        """Make the demo's folder."""
        self.logs.mkdir(parents=True, exist_ok=True)

    @property
    def scratch(self) -> Path:
        """The folder for everything that the demo creates."""
        return self.checkout / "scratch" / "demo"

    @property
    def logs(self) -> Path:
        """The folder for the output of servers and commands."""
        return self.scratch / "logs"

    @property
    def corehop(self) -> Path:
        """The command."""
        return self.checkout / "target" / "release" / "corehop"

    @property
    def tpcc(self) -> Path:
        """The load."""
        return self.checkout / "target" / "release" / "corehop-tpcc"

    @property
    def pristine(self) -> Path:
        """The data directory that every run copies."""
        return self.scratch / "data-pristine"

    @property
    def trace(self) -> Path:
        """The recording."""
        return self.scratch / "tpcc.trace"

    @property
    def page(self) -> Path:
        """The report of a split, to be opened in a browser."""
        return self.scratch / "report.html"

    @property
    def optimized(self) -> Path:
        """The output folder of `corehop optimize` for redis."""
        return self.scratch / "redis"

    def load(self, load: RedisLoad) -> Path:
        """Return the folder of a load's scripts."""
        return self.checkout / "loads" / load.folder

    @property
    def optimized_result(self) -> Path:
        """The result of `corehop optimize` for redis."""
        return self.optimized / "result.json"

    @property
    def recorded(self) -> Path:
        """The result of the load under QEMU."""
        return self.scratch / "recorded.json"

    def run(self, name: str) -> Path:
        """Return the result file of a run of the load."""
        return self.scratch / f"run-{name}.json"

    def partition(self, cores: int) -> Path:
        """Return the result file of the search for this number of cores."""
        return self.scratch / f"partition-{cores}.json"

    def replay(self, cores: int) -> Path:
        """Return the result file of a replay of the plan for this number of cores."""
        return self.scratch / f"replay-{cores}.json"

    def plan(self, cores: int) -> Path:
        """Return the plan for this number of cores."""
        return self.scratch / f"plan-{cores}.toml"

    def patched(self, cores: int) -> Path:
        """Return the server patched with that plan."""
        return self.scratch / f"mariadbd.hop{cores}"

    def short(self, path: Path) -> str:
        """Return the path relative to the checkout."""
        return str(path.relative_to(self.checkout))
