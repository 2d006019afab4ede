"""From what the user names to files and objects.

A source is a file, a folder, a pattern (`*`, `?`, `[…]`, `**`), a URL of an object, of a prefix or with a pattern, or a
`.txt` list of these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pdfocr_core.errors import ConfigurationError, Reason
from pdfocr_core.sources.files import look_at, walk
from pdfocr_core.sources.found import Found, IsKnown, nothing_known
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.names import Glob, split_glob
from pdfocr_core.sources.objects import find_objects
from pdfocr_core.sources.opening import Stores
from pdfocr_core.sources.overlap import Once, local_path
from pdfocr_core.sources.presence import Extent
from pdfocr_core.sources.sniff import Kind
from pdfocr_core.store import StoreOpener, is_url, open_store

__all__ = ["expand"]


def expand(
    sources: Iterable[str],
    *,
    exclude: str | Path | None = None,
    is_known: IsKnown = nothing_known,
    opener: StoreOpener = open_store,
    after: str = "",
    missing_ok: bool = False,
    on_listed: Callable[[Extent], None] | None = None,
) -> Iterator[Found]:
    """List what the sources hold, each file or object once, folders in the order of the names.

    Args:
        sources: what the user named, in the user's order.
        exclude: the workspace, a path or a URL; it is never entered.
        is_known: what is already indexed; of that only the URL and the version are looked at.
        opener: opens buckets.
        after: go on after this key or local path; for a single source that is a prefix, a folder or a pattern.
        missing_ok: pass by sources that hold nothing.
        on_listed: told of every folder, prefix or pattern that holds something and was listed to its end.

    Raises:
        ConfigurationError: a source is not there, or a pattern or list finds nothing.
    """
    named = list(sources)
    once = Once(named)
    lister = _Lister(exclude, is_known, opener, after, on_listed, once)
    for source in named:
        try:
            for found in lister.expand(source):
                if once.is_new(found.url):
                    yield found
        except ConfigurationError as error:
            if not missing_ok or error.code != "source_not_found":
                raise


class _Lister:
    def __init__(
        self,
        exclude: str | Path | None,
        is_known: IsKnown,
        opener: StoreOpener,
        after: str,
        on_listed: Callable[[Extent], None] | None,
        once: Once,
    ) -> None:
        text = str(exclude) if exclude is not None else ""
        self._exclude_path = Path(text).absolute() if text and not is_url(text) else None
        self._exclude_url = text if is_url(text) else None
        self._is_known = is_known
        self._stores = Stores(opener)
        self._after = after
        self._on_listed = on_listed
        self._once = once

    def expand(self, source: str) -> Iterator[Found]:
        """All that one source means, lists included."""
        if is_url(source) and not source.startswith("file://"):
            if _is_list_name(source):
                yield from self._remote_list(source)
            else:
                yield from self._objects(source)
            return
        path = local_path(source)
        if not os.path.lexists(path):
            yield from self._pattern(path)
        elif Path(path).is_dir():
            yield from self._folder(path)
        else:
            is_list = _is_list_name(path)
            found = look_at(path, named=True, is_known=nothing_known if is_list else self._is_known)
            if is_list and found.kind in (Kind.OTHER, Kind.EMPTY):
                lines = Path(path).read_bytes()
                yield from self._lines(lines, path, os.path.dirname(found.url))  # noqa: PTH120
            else:
                yield found

    def _objects(self, url: str) -> Iterator[Found]:
        several = False
        extent = None if self._after else Extent.of_objects(url, self._exclude_url)
        self._once.begins(extent)
        for found in find_objects(
            url, self._stores, is_known=self._is_known, exclude=self._exclude_url, after=self._after or None
        ):
            several = not found.named
            yield found
        self._once.ended()
        if several and extent is not None and self._on_listed is not None:
            self._on_listed(extent)

    def _folder(self, path: str, glob: Glob | None = None) -> Iterator[Found]:
        if self._exclude_path and self._exclude_path.exists() and Path(path).samefile(self._exclude_path):
            raise ConfigurationError(
                f"{path} is the workspace itself.",
                code="source_is_workspace",
                remedy="Name another folder with --workspace, or the folder inside it that holds the documents.",
            )
        empty = True
        try:
            for found in walk(
                path, is_known=self._is_known, exclude=self._exclude_path, glob=glob, after=self._after_in(path)
            ):
                empty = False
                yield found
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be listed: {error.strerror or error}.",
                code="source_unreadable",
                remedy="Check the folder's permissions and the disk or network it is on.",
            ) from error
        if not empty and not self._after and self._on_listed is not None:
            exclude = str(self._exclude_path) if self._exclude_path else None
            self._on_listed(Extent.of_folder(path, glob.regex if glob else None, exclude))

    def _pattern(self, path: str) -> Iterator[Found]:
        glob = split_glob(path)
        if glob is None:
            raise _not_found(path, "there is no such file or folder")
        base = glob.base or "."
        if not Path(base).is_dir():
            raise _not_found(path, f"there is no folder {base}")
        empty = True
        for found in self._folder(base, glob):
            empty = False
            yield found
        if empty and not self._after:
            raise _not_found(path, "nothing matches the pattern")

    def _after_in(self, folder: str) -> str:
        """Where to go on in a folder; at its beginning when what was given last is not below it."""
        above = f"{os.path.abspath(folder).rstrip('/')}/"  # noqa: PTH100 - links stay as the user wrote them
        return self._after.removeprefix(above) if self._after.startswith(above) else ""

    def _remote_list(self, url: str) -> Iterator[Found]:
        store, name = self._stores.locate(url)
        try:
            data = store.read(name)
        except FileNotFoundError:
            raise _not_found(url, "there is no such list") from None
        yield from self._lines(data, url, url.rsplit("/", 1)[0])

    def _lines(self, data: bytes, name: str, folder: str) -> Iterator[Found]:
        """What the lines of a list mean. One vanished file among many is a row with its reason, not the run's end."""
        present = missing = 0
        for raw in data.decode("utf-8-sig", "surrogateescape").split("\n"):
            line = raw.strip()
            if not line or line.startswith("#"):
                continue
            try:
                for found in self._line(line, folder):
                    present += 1
                    yield found
            except ConfigurationError as error:
                if error.code != "source_not_found" or split_glob(line):
                    raise
                missing += 1
                source = _joined(folder, line)
                url = source if is_url(source) else os.path.abspath(source)  # noqa: PTH100
                detail = f"Named in {name}, and not there."
                yield Found(url, "missing", 0, named=True, problem=Reason.SOURCE_MISSING, detail=detail)
        if not present:
            why = f"none of its {missing} lines names anything that is there" if missing else "the list names nothing"
            raise _not_found(name, why)

    def _line(self, line: str, folder: str) -> Iterator[Found]:
        source = _joined(folder, line)
        if not _is_list_name(source):
            yield from self.expand(source)
        elif is_url(source):
            yield from self._objects(source)
        elif os.path.lexists(source):
            found = look_at(source, named=True, is_known=self._is_known)
            yield replace(found, detail=found.detail or "Lists do not hold lists.") if _is_text(found) else found
        else:
            yield from self._pattern(source)


def _is_list_name(source: str) -> bool:
    return source.lower().endswith(".txt") and not (is_url(source) and split_glob(source))


def _is_text(found: Found) -> bool:
    return found.what is What.DOCUMENT and found.problem is Reason.NOT_A_PDF


def _joined(folder: str, line: str) -> str:
    if is_url(line):
        return line
    return f"{folder}/{line}" if is_url(folder) else os.path.join(folder, local_path(line))  # noqa: PTH118


def _not_found(source: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{source}: {why}.",
        code="source_not_found",
        remedy="Check the spelling and the folder you are in; quote a pattern so that the shell leaves it alone.",
    )
