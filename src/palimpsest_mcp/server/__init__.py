"""The MCP server: tools, their schemas and texts, and the transport.

In: requests of the protocol. Out: tool results, masked. `server.build_server` puts it together,
`lifespan.OpenOnFirstUse` opens the store behind the first answer, `slim` keeps schemas and errors short, the
`tools_*` modules are the tools.
"""
