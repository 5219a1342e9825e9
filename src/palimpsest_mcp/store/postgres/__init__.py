"""A store in PostgreSQL, which many machines share: `link` is the way to the server, `store` has the parts together.

Nothing is kept in a connection: every transaction says itself whose rows it may see, so a pooler may hand each one to
another connection. Needs `palimpsest-mcp[postgres]`.
"""
