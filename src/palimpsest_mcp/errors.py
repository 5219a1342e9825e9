"""Every error a caller may meet, as one tree.

    PalimpsestError
    ├── InputError            what was handed in cannot be used
    │   ├── InvalidArgument · InvalidItem · InvalidPolicy · InvalidSettings
    │   ├── FileMissing · FileEmpty · FileNotJson · FileWrongShape · LineNeeded · OutputRefused
    │   ├── InvalidEvent · SkillAmbiguous · HandWrittenTooLong
    │   ├── HandoffIncomplete · HandoffSecret · ExchangeRefused · SessionExists
    │   └── WindowUnknown
    ├── UnknownName           a session, batch, item, skill, rule or handoff that nobody has
    │   ├── SessionUnknown · BatchUnknown · ItemUnknown · SkillUnknown · RuleUnknown · HandoffUnknown
    ├── NotRestorable · Purged    known, but there is no text to give back
    ├── StoreError            the disk or the store refused
    │   ├── StoreUnusable · StoreNewer · WriteFailed · RecordDamaged · LockTimeout · SummaryChanged
    └── PassError             a compaction pass could not go on
        ├── PassInProgress · RevConflict · PlanStale · DigestRefused

Each class has a stable `code`, one exit status a code (listed in `docs/errors.md`), a sentence, and a `next` step.
No message ever quotes stored text.
"""

from __future__ import annotations

from typing import ClassVar


class PalimpsestError(Exception):
    """Anything this program reports instead of a traceback.

    Attributes:
        message: one sentence for a person.
        next: what to do now, one sentence in the imperative; where it names a step, a `models.advice.Advice`, which
            each face words as its callers can take it.
    """

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1
    for_user: ClassVar[bool] = False
    """Whether the next step is out of an agent's reach: it is at the machine, the disk or the settings."""

    def __init__(self, message: str, *, next: str) -> None:
        super().__init__(message)
        self.message = message
        self.next = next

    def to_json(self) -> dict[str, str]:
        """`{"code", "message", "next"}`: the form every face prints (I10)."""
        return {"code": self.code, "message": self.message, "next": self.next}

    def __str__(self) -> str:
        return f"{self.message} Next: {self.next}"


class InputError(PalimpsestError):
    """What was handed in cannot be used; nothing was written."""


class InvalidArgument(InputError):
    """An argument has a value outside its range or form."""

    code = "invalid_argument"
    exit_status = 2


class FileMissing(InputError):
    """The file is not there or cannot be read."""

    code = "file_missing"
    exit_status = 10


class FileEmpty(InputError):
    """The file holds nothing but white space."""

    code = "file_empty"
    exit_status = 11


class FileNotJson(InputError):
    """The file is neither JSON nor JSON lines.

    Attributes:
        line: 1-based line of the first byte that does not fit, 0 where unknown.
    """

    code = "file_not_json"
    exit_status = 12

    def __init__(self, message: str, *, next: str, line: int = 0) -> None:
        super().__init__(message, next=next)
        self.line = line


class FileWrongShape(InputError):
    """JSON, but no session that this program knows.

    Attributes:
        where: path of the first value of the wrong shape, such as `messages[3].content`.
    """

    code = "file_wrong_shape"
    exit_status = 13

    def __init__(self, message: str, *, next: str, where: str = "") -> None:
        super().__init__(message, next=next)
        self.where = where


class LineNeeded(InputError):
    """The file has one session a line, and no line was named."""

    code = "line_needed"
    exit_status = 14


class WindowUnknown(InputError):
    """The window's size is neither given nor reported, so no ratio can be had."""

    code = "window_unknown"
    exit_status = 15


class InvalidItem(InputError):
    """`record_items` refused an item.

    Attributes:
        index: 0-based place in the list.
        field: the field that is wrong.
    """

    code = "invalid_item"
    exit_status = 16

    def __init__(self, message: str, *, next: str, index: int, field: str) -> None:
        super().__init__(message, next=next)
        self.index = index
        self.field = field


class InvalidPolicy(InputError):
    """A policy has an unknown field or a value outside its range."""

    code = "invalid_policy"
    exit_status = 17


class InvalidSettings(InputError):
    """An environment variable or the settings file has an unknown key or a bad value."""

    code = "invalid_settings"
    exit_status = 18
    for_user = True


class OutputRefused(InputError):
    """A file was to be written where something stands already, over its own source, or into a store."""

    code = "output_refused"
    exit_status = 19


class ExchangeRefused(InputError):
    """The file to import is damaged, no export, or of a newer version; nothing of it was imported."""

    code = "exchange_refused"
    exit_status = 80


class SessionExists(InputError):
    """A session to import is here already, with another content; nothing was imported."""

    code = "session_exists"
    exit_status = 81


class UnknownName(PalimpsestError):
    """A name that the store does not have."""


class SessionUnknown(UnknownName):
    """No session has this id or handle.

    Attributes:
        name: what was asked for.
        near: handles of the sessions that may be meant, the nearest first.
    """

    code = "session_unknown"
    exit_status = 20

    def __init__(self, message: str, *, next: str, name: str = "", near: tuple[str, ...] = ()) -> None:
        super().__init__(message, next=next)
        self.name = name
        self.near = near


class BatchUnknown(UnknownName):
    """The session (and its parents) has no such batch."""

    code = "batch_unknown"
    exit_status = 21


class ItemUnknown(UnknownName):
    """The batch or context has no such item, or needs one named."""

    code = "item_unknown"
    exit_status = 22


class NotRestorable(PalimpsestError):
    """The item was recorded without its text, so there is nothing to give back."""

    code = "not_restorable"
    exit_status = 23


class Purged(PalimpsestError):
    """The original was removed by a purge that the user asked for."""

    code = "purged"
    exit_status = 24


class StoreError(PalimpsestError):
    """The disk or the store refused; nothing that was acknowledged is lost."""


class StoreUnusable(StoreError):
    """The store cannot be opened: not a folder, not ours, or not readable."""

    code = "store_unusable"
    exit_status = 30
    for_user = True


class StoreNewer(StoreError):
    """A newer program wrote this store."""

    code = "store_newer"
    exit_status = 31
    for_user = True


class WriteFailed(StoreError):
    """A write or flush failed (full disk, read-only disk, I/O error); it does not count as written."""

    code = "write_failed"
    exit_status = 32
    for_user = True


class RecordDamaged(StoreError):
    """A stored record does not match its own checksum or hash; it is reported, never passed off as whole."""

    code = "record_damaged"
    exit_status = 33


class LockTimeout(StoreError):
    """Another process held a lock for too long."""

    code = "lock_timeout"
    exit_status = 34


class SummaryChanged(StoreError):
    """Somebody wrote the session's summary since it was read; nothing was overwritten."""

    code = "summary_changed"
    exit_status = 35


class PassError(PalimpsestError):
    """A compaction pass could not go on; the context is as it was."""


class PassInProgress(PassError):
    """Another pass on the same session is running (L9)."""

    code = "pass_in_progress"
    exit_status = 40


class RevConflict(PassError):
    """A decision was based on a revision that is no longer the newest (L1).

    Attributes:
        rev: the newest revision.
    """

    code = "rev_conflict"
    exit_status = 41

    def __init__(self, message: str, *, next: str, rev: int) -> None:
        super().__init__(message, next=next)
        self.rev = rev


class PlanStale(PassError):
    """The session changed since the dry run that made the plan (I4)."""

    code = "plan_stale"
    exit_status = 42


class DigestRefused(PassError):
    """A digest did not pass its verification and no fallback was left."""

    code = "digest_refused"
    exit_status = 43


class InvalidEvent(InputError):
    """`record_experience` refused an event; nothing was written.

    Attributes:
        field: the field that is wrong.
    """

    code = "invalid_event"
    exit_status = 60

    def __init__(self, message: str, *, next: str, field: str) -> None:
        super().__init__(message, next=next)
        self.field = field


class SkillUnknown(UnknownName):
    """No folder of this name has experience under the skills roots."""

    code = "skill_unknown"
    exit_status = 61


class SkillAmbiguous(InputError):
    """Several folders under the skills roots have this name."""

    code = "skill_ambiguous"
    exit_status = 62


class RuleUnknown(UnknownName):
    """No digest has a rule of this id, or several have."""

    code = "rule_unknown"
    exit_status = 63


class HandWrittenTooLong(InputError):
    """The lines of `experience.md` that people wrote leave no room under its ceiling; nothing was written."""

    code = "hand_written_too_long"
    exit_status = 64


class HandoffUnknown(UnknownName):
    """No handoff of this project, or of this task, is there."""

    code = "handoff_unknown"
    exit_status = 70


class HandoffIncomplete(InputError):
    """Sections without which nobody could continue are empty, and the session says nothing for them.

    Attributes:
        missing: names of the sections.
    """

    code = "handoff_incomplete"
    exit_status = 71

    def __init__(self, message: str, *, next: str, missing: tuple[str, ...]) -> None:
        super().__init__(message, next=next)
        self.missing = missing


class HandoffSecret(InputError):
    """The handoff's final text still holds what looks like a secret; nothing was written.

    Attributes:
        kinds: which kinds.
        where: headings of the sections.
    """

    code = "handoff_secret"
    exit_status = 72

    def __init__(self, message: str, *, next: str, kinds: tuple[str, ...], where: tuple[str, ...]) -> None:
        super().__init__(message, next=next)
        self.kinds = kinds
        self.where = where
