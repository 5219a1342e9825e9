"""The MCP server: tools over the facade."""
