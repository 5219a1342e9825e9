"""Which implementation stands behind each seam."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import StoreUnusable
from ..experience.disk import DiskExperience
from ..experience.models import Experience, RuleWriter
from ..experience.state import LearningDependencies
from ..hosts.claude_code.settings import read_overrides
from ..models.host_table import HostOverrides, host_row
from ..models.records import EXTRACTIVE, Digest, DigestRequest
from ..ports.seams import Clock, Digester, Judge, RandomHex, SummaryAuthor, Writer
from ..ports.store import Store
from ..settings.settings import Settings
from ..store.disk_store import DiskStore
from ..text.redaction.redactor import open_redactor
from ..text.specifics.registry import DefaultRegistry, UserClass
from ..text.tokens.count import open_counter
from ..text.tokens.windows import FAST_MODEL, rates_of, window_of
from .dependencies import ContentCounter, Dependencies

if TYPE_CHECKING:
    from ..digest.study import Studies
    from ..llm.api import MessagesApi

# A digester whose work is done in a thread, so that the event loop answers other calls meanwhile.


class Computes(Protocol):
    """A digester that works out a digest in one go."""

    @property
    def name(self) -> str: ...

    def compute(self, request: DigestRequest) -> Digest: ...


class InThread:
    """Implements `ports.seams.Digester`.

    Whoever is cancelled while waiting leaves the thread to finish the one batch it is at; its digest goes nowhere.
    """

    def __init__(self, inner: Computes) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """That of the digester inside."""
        return self._inner.name

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch.

        Raises:
            DigestRefused: nothing smaller than the originals could be made.
        """
        return await asyncio.to_thread(self._inner.compute, request)


class Extractive:
    """The digester that needs no model. What is behind it is imported with the first digest."""

    name = EXTRACTIVE

    def __init__(self, registry: DefaultRegistry, counter: ContentCounter, studies: Callable[[], Studies]) -> None:
        self._registry, self._counter, self._studies = registry, counter, studies

    def compute(self, request: DigestRequest) -> Digest:
        """Digest a batch.

        Raises:
            DigestRefused: nothing smaller than the originals could be made.
        """
        return self._inner.compute(request)

    @cached_property
    def _inner(self) -> Computes:
        from ..digest.prose import HandedDigester

        return HandedDigester(self._registry, self._counter, self._registry.classes, self._studies())


PRINCIPALS = "principals"
"""The folder of what skills other principals than the owner have learned."""
_USUAL_ROOTS = (".claude/skills", ".autosearch/skills")
"""Looked for in the working folder and in the user's home, where no roots are set."""


def open_store(settings: Settings, clock: Clock, random_hex: RandomHex) -> Store:
    """The store that the settings name: a database, else the folder.

    Raises:
        StoreUnusable: what reaches the database is not installed.
        InvalidArgument: its URL is none.
    """
    if url := settings.store.get_secret_value():
        return _database(url, settings, random_hex)
    return DiskStore(settings.home, clock=clock, random_hex=random_hex, most_bytes=settings.max_store_mb << 20)


def is_database(place: str) -> bool:
    """Whether a place is a database's URL, and no folder."""
    return place.startswith(("postgresql://", "postgres://"))


@contextmanager
def needs_extra() -> Generator[None]:
    """Around the import of what reaches a database.

    Raises:
        StoreUnusable: it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreUnusable(
            f"The store is a database, and {error.name}, which reaches it, is not installed.",
            next=f"pip install 'palimpsest-mcp[{'s3' if error.name == 'obstore' else 'postgres'}]'",
        ) from error


def _database(url: str, settings: Settings, random_hex: RandomHex) -> Store:
    with needs_extra():
        from ..store.postgres.rows import Objects
        from ..store.postgres.store import PgStore

        objects = Objects(settings.store_bodies) if settings.store_bodies else None
    return PgStore(
        url,
        home=settings.home,
        tenant=settings.tenant,
        connections=settings.store_connections,
        objects=objects,
        random_hex=random_hex,
    )


async def dependencies(
    settings: Settings, store: Store, clock: Clock, random_hex: RandomHex, principal: str
) -> Dependencies:
    """Everything the use cases are given."""
    registry = DefaultRegistry(
        [UserClass(name=one.name, pattern=one.pattern, weight=one.weight) for one in settings.specifics]
    )
    redactor = open_redactor(
        await store.secret(),
        rule_files=settings.redaction_rule_files,
        allow=settings.redaction_allow,
        pii=settings.redaction_pii,
    )

    @cache
    def studies() -> Studies:
        from ..digest.study import Studies

        return Studies(registry)

    @cache
    def digester_for(counter: ContentCounter) -> Digester:
        return InThread(Extractive(registry, counter, studies))

    policy_named = cache(settings.policy_named)
    return Dependencies(
        store=store,
        clock=clock,
        random_hex=random_hex,
        redactor=redactor,
        registry=registry,
        counter_for=cache(open_counter),
        digester_for=digester_for,
        studies=studies,
        writer=_writer(settings, random_hex) if settings.digester == "anthropic" else None,
        author=_author(settings, random_hex),
        judge=_judge(settings, random_hex) if settings.probe_judge == "anthropic" else None,
        policy_named=policy_named,
        principal=principal,
        model=settings.model,
        window_tokens=settings.window_tokens,
        effective_window_tokens=settings.effective_window_tokens,
        automatic=settings.auto,
        recall=settings.recall,
        redact_archive=settings.redact_archive,
        host_overrides=host_overrides,
        at_birth=settings.at_birth,
        at_birth_tokens=settings.at_birth_tokens,
        kind_by_tool=policy_named(None).kind_by_tool,
    )


def host_overrides(host: str, project: str) -> HostOverrides:
    """What the user set in the host that a session runs in; read anew, since it may change while we run."""
    row = host_row(host)
    if row is None or not row.percent_setting:  # settings of other hosts are not read
        return HostOverrides()
    return read_overrides(os.environ, Path.home(), Path(project) if project else None)


def _api(settings: Settings) -> MessagesApi:
    """The model that the settings name, and how to reach it."""
    from ..llm.api import MessagesApi

    model = settings.anthropic_model or FAST_MODEL
    return MessagesApi(
        model,
        api_key=settings.anthropic_api_key.get_secret_value() or os.environ.get("ANTHROPIC_API_KEY", ""),
        auth_token=os.environ.get("ANTHROPIC_AUTH_TOKEN", ""),
        base_url=settings.anthropic_base_url,
        time_limit_s=settings.anthropic_time_limit_s,
        rates=rates_of(model),
    )


def _judge(settings: Settings, random_hex: RandomHex) -> Judge:
    from ..llm.tasks import AnthropicJudge

    return AnthropicJudge(_api(settings), random_hex)


def _author(settings: Settings, random_hex: RandomHex) -> SummaryAuthor | None:
    """Who words sections of summaries: the same model, where there is a key to ask it with."""
    if settings.digester != "anthropic" or not (api := _api(settings)).has_key:
        return None
    from ..llm.tasks import AnthropicSummaryAuthor

    return AnthropicSummaryAuthor(api, random_hex)


def _writer(settings: Settings, random_hex: RandomHex) -> Writer:
    """The model that the settings name; without a key it answers every request with that reason."""
    from ..llm.tasks import AnthropicWriter

    api = _api(settings)
    window = window_of(api.model)
    return AnthropicWriter(
        api,
        parallel=settings.anthropic_parallel,
        pass_limit_s=settings.anthropic_pass_limit_s,
        window_tokens=window.tokens if window is not None else None,
        random_hex=random_hex,
    )


def open_experience(settings: Settings, random_hex: RandomHex, principal: str = "") -> Experience:
    """Experience below the configured roots, or the usual ones, and our own folder; of a principal, in its own."""
    if principal:  # skills on this machine are the owner's
        named = hashlib.sha256(principal.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return DiskExperience(settings.home / PRINCIPALS / named, (), random_hex=random_hex)
    roots: Sequence[Path] = settings.skills_roots or [
        base / root for base in (Path.cwd(), Path.home()) for root in _USUAL_ROOTS
    ]
    return DiskExperience(settings.home, roots, random_hex=random_hex)


def learning_means(settings: Settings, deps: Dependencies, experience: Experience) -> LearningDependencies:
    """What learning works with, by the settings."""
    return LearningDependencies(
        experience=experience,
        redactor=deps.redactor,
        clock=deps.clock,
        min_wilson=settings.min_wilson,
        min_relevance=settings.min_relevance,
        writer=_rule_writer(settings),
    )


def _rule_writer(settings: Settings) -> RuleWriter | None:
    """A model words rules only where a key is there and nobody switched it off."""
    key = settings.anthropic_api_key.get_secret_value() or os.environ.get("ANTHROPIC_API_KEY", "")
    if not key or not settings.auto or settings.rule_wording != "auto":
        return None
    from ..experience.learn import AnthropicRuleWriter

    return AnthropicRuleWriter(key, base_url=settings.anthropic_base_url or None)
