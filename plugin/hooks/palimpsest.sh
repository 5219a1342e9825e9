#!/bin/sh
# Starts palimpsest-mcp with the arguments given. Where that command is missing, the session goes on quietly: hooks get an
# empty answer from the little server below, and one line says at the start what to do.
command -v palimpsest-mcp >/dev/null 2>&1 && exec palimpsest-mcp "$@"

missing='Palimpsest is idle: there is no command palimpsest-mcp on the PATH. Install it (in a checkout of the project: uv tool install . or pipx install .), then restart Claude Code.'

if [ "$1" = hook ]; then
  given=$(cat)
  case $2$given in
    SessionStart*'"source":"startup"'* | SessionStart*'"source":"resume"'*) printf '{"systemMessage": "%s"}\n' "$missing" ;;
  esac
  exit 0
fi

# A server with one tool that says nothing: the hooks call it, and an absent server would be a red line at each of them.
while IFS= read -r line; do
  # Only the ends of a line are looked at: with results in it, it may be megabytes long.
  head=$(printf '%.400s' "$line")
  tail=$(printf '%s' "$line" | tail -c 80)
  case $head in '{"jsonrpc":"2.0","id":'*) tail=${head%%,\"method*}\} ;; esac
  case $tail in
    *'"jsonrpc":"2.0","id":'*) id=${tail##*'"jsonrpc":"2.0","id":'} id=${id%\}} ;;
    *) continue ;; # a notification
  esac
  case $head in
    *'"method":"initialize"'*) said='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"palimpsest","version":"0"}}' ;;
    *'"method":"tools/list"'*) said='"result":{"tools":[{"name":"host_event","description":"For hooks only.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*'"event":"P'[ro]*'Compact"'*) said='"result":{"content":[{"type":"text","text":""}]}' ;;
    *'"method":"tools/call"'*) said='"result":{"content":[{"type":"text","text":"{}"}]}' ;;
    *'"method":"ping"'*) said='"result":{}' ;;
    *) said='"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$said"
done
