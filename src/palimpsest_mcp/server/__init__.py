"""The MCP server: seven tools over the facade."""
