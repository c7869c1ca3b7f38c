"""The parts of a project that indexing needs. The indexing thread knows only these, never the project itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

    from ctxd.daemon.indexing.chosen_model import ProjectModel
    from ctxd.daemon.indexing.watcher import Watcher
    from ctxd.daemon.indexing.workers import WorkerPool
    from ctxd.daemon.projects.config import Settings
    from ctxd.indexer.database import Database
    from ctxd.indexer.files.file_table import FileTable
    from ctxd.indexer.symbols.symbol_search import SymbolSearch
    from ctxd.indexer.text.text_search import TextSearch
    from ctxd.indexer.writer import Writer

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Indexable:
    root: bytes
    settings: Settings
    lock: threading.RLock
    """Guards the table and the watcher. Not held while files are read or rows are written."""
    wake: threading.Event
    """Set when there may be work."""
    settled: threading.Condition
    """A condition of `lock`. Notified after rows were written or elements ranked, for calls that wait for them."""
    table: FileTable
    watcher: Watcher
    database: Database
    writer: Writer
    model: ProjectModel
    text: TextSearch
    symbols: SymbolSearch
    workers: WorkerPool
    embedders: WorkerPool

    def has_index(self) -> bool:
        """True if our knowledge of rows is still true: the database is whole and was not built again since."""
        return self.writer.generation == self.database.generation and not self.database.is_lost()

    def too_large(self) -> str | None:
        """Why the project is too large to be indexed without asking; None if it is not."""
        files, settings = len(self.table), self.settings
        if files > settings.index_files_max:
            return f"{files} files are more than index_files_max ({settings.index_files_max}); raise it in the settings"
        # Summing 80,000 sizes costs 4 ms: done only if the number of files makes a too large sum possible.
        size = sum(file.size for file in list(self.table.without_content)) // _MIB
        if size > settings.index_mib_max:
            return (
                f"{size} MiB to index are more than index_mib_max ({settings.index_mib_max}); raise it in the settings"
            )
        return None
