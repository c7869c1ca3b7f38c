"""What of a project its indexing works on. The indexing thread and its parts know this, never the project that put it together."""

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
    """Guards the table and the watcher; held neither while files are read nor while rows are written."""
    wake: threading.Event
    """Set where there may be something to do."""
    settled: threading.Condition
    """Of `lock`. Notified whenever rows were written or elements ranked, for callers that wait for theirs."""
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
        """Whether what is known of rows is true: the database is whole, and was not made anew since."""
        return self.writer.generation == self.database.generation and not self.database.is_lost()

    def too_large(self) -> str | None:
        """Why the project is not indexed without asking."""
        files, settings = len(self.table), self.settings
        if files > settings.index_files_max:
            return f"{files} files are more than index_files_max ({settings.index_files_max}); raise it in the settings"
        # Summing 80,000 sizes costs 4 ms: only where the number of files makes the sum doubtful at all.
        size = sum(file.size for file in list(self.table.without_content)) // _MIB
        if size > settings.index_mib_max:
            return (
                f"{size} MiB to index are more than index_mib_max ({settings.index_mib_max}); raise it in the settings"
            )
        return None
