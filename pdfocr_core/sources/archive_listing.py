"""From an archive to its documents: which members count, what they are called, what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pdfocr_core.documents import ARCHIVE_SEPARATOR, Document
from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archives import iter_members
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.judge import Verdict, What, judge
from pdfocr_core.sources.member import Member
from pdfocr_core.sources.names import is_archive_name, is_document_name, is_litter
from pdfocr_core.sources.opening import Stores
from pdfocr_core.sources.sniff import HEAD_BYTES, Kind, sniff

__all__ = ["ArchiveContents", "list_archive", "member_name_matches"]

_IGNORED = Verdict(What.IGNORED)


@dataclass(slots=True)
class ArchiveContents:
    """What an archive holds for us, and how many members were passed by."""

    documents: list[Document] = field(default_factory=list)
    ignored: int = 0
    encrypted: int = 0


def list_archive(found: Found, stores: Stores, limits: ArchiveLimits) -> ArchiveContents:
    """List an archive's documents; trouble with the archive itself is one more document, which bears its URL."""
    contents = ArchiveContents()
    problem: DocumentError | None = None
    try:
        with stores.open(found.url).stream as stream:
            kind = found.kind
            if kind is None:
                kind = sniff(stream.read(HEAD_BYTES))
                stream.seek(0)
            if kind is Kind.PDF or kind.is_picture:  # judged by name until now
                return ArchiveContents([found.document])
            names: set[str] = set()
            for member in iter_members(stream, kind, limits):
                _add(contents, found, member, names)
    except DocumentError as error:
        problem = error
    if problem is None and not contents.documents:
        problem = _nothing_in(found, contents)
    if problem is not None:
        row = Document(found.url, found.version, found.bytes, problem=problem.reason.value, detail=problem.detail)
        contents.documents.append(row)
    return contents


def member_name_matches(listed: str, name: str) -> bool:
    """Whether a document's member name stands for this one, the mark of a duplicate left aside."""
    mark = listed.removeprefix(name)
    return listed.startswith(name) and (not mark or (mark[0] == "~" and mark[1:].isdigit()))


def _nothing_in(found: Found, contents: ArchiveContents) -> DocumentError | None:
    if contents.encrypted:
        return DocumentError(Reason.ARCHIVE_ENCRYPTED, f"{contents.encrypted} members are encrypted.")
    if found.named or is_archive_name(found.url):
        return DocumentError(Reason.EMPTY_ARCHIVE, f"{contents.ignored} members, none of them a document.")
    return None  # a zip under some other program's name is no loss


def _add(contents: ArchiveContents, found: Found, member: Member, names: set[str]) -> None:
    verdict, reason, detail = _judge(member)
    contents.encrypted += member.reason is Reason.ARCHIVE_ENCRYPTED
    if verdict.what is What.IGNORED:
        contents.ignored += 1
        return
    contents.documents.append(
        Document(
            url=f"{found.url}{ARCHIVE_SEPARATOR}{_unique(member.name, names)}",
            version=f"{found.version}#{member.index}",
            bytes=member.size,
            pages=verdict.pages,
            member=member.index,
            problem=reason.value if reason else None,
            detail=detail,
        )
    )


def _judge(member: Member) -> tuple[Verdict, Reason | None, str]:
    """A member that cannot be looked at counts when its name is a document's."""
    by_name = Verdict(What.DOCUMENT) if is_document_name(member.name) or is_archive_name(member.name) else _IGNORED
    if is_litter(member.name):
        return _IGNORED, None, ""
    if member.reason is not None:
        return by_name, member.reason, member.detail
    try:
        kind = sniff(member.head())
    except DocumentError as error:
        return by_name, error.reason, error.detail
    verdict = judge(member.name, kind, named=False)
    if verdict.what is What.ARCHIVE:
        return verdict, Reason.NESTED_ARCHIVE, f"An archive inside the archive ({kind})."
    return verdict, verdict.problem, ""


def _unique(name: str, names: set[str]) -> str:
    unique, count = name, 1
    while unique in names:
        count += 1
        unique = f"{name}~{count}"
    names.add(unique)
    return unique
