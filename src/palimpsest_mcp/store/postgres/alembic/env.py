"""What `alembic` runs: `script_location = palimpsest_mcp:store/postgres/alembic`."""

from palimpsest_mcp.store.postgres.by_alembic import run

run()
