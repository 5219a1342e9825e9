from palimpsest_mcp.store.postgres.by_alembic import revision_of

__doc__, revision, down_revision, upgrade, downgrade = revision_of(__file__)
