"""Which implementation stands behind each seam."""

from __future__ import annotations

from functools import cache

from ..digest.engine import ExtractiveDigester
from ..ports.clock import Clock, RandomHex
from ..ports.store import Store
from ..ports.text import Digester
from ..redaction import open_redactor
from ..services.dependencies import ContentCounter, Dependencies
from ..settings.settings import Settings
from ..specifics.registry import DefaultRegistry
from ..specifics.user import UserClass
from ..store.disk_store import DiskStore
from ..tokens.counting import open_counter


def open_store(settings: Settings, clock: Clock, random_hex: RandomHex) -> Store:
    """The store in the configured folder."""
    return DiskStore(settings.home, clock=clock, random_hex=random_hex)


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
    def digester_for(counter: ContentCounter) -> Digester:
        return ExtractiveDigester(registry, counter)

    return Dependencies(
        store=store,
        clock=clock,
        random_hex=random_hex,
        redactor=redactor,
        registry=registry,
        counter_for=cache(open_counter),
        digester_for=digester_for,
        policy_named=settings.policy_named,
        principal=principal,
        model=settings.model,
        window_tokens=settings.window_tokens,
        effective_window_tokens=settings.effective_window_tokens,
        automatic=settings.auto,
        redact_archive=settings.redact_archive,
        kind_by_tool=settings.policy_named(None).kind_by_tool,
    )
