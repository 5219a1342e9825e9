"""The store in PostgreSQL keeps the same contract as that on disk, at the server itself and through a pooler."""

from __future__ import annotations

import pytest

from palimpsest_mcp.testing.store_contract import StoreContract

from .cluster import Cluster
from .conftest import tenant_of


class TestPostgresStore(StoreContract):
    """Through a pooler that gives every transaction another connection."""

    @pytest.fixture(autouse=True)
    def a_server(self, cluster: Cluster) -> None:
        from palimpsest_mcp.store.postgres.store import PgStore

        url = cluster.pooled
        self.opens = lambda place: PgStore(url, home=place, tenant=tenant_of(place))
