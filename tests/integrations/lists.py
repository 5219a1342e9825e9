"""Lists in providers' own forms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .replay import Messages


def items_of(messages: Messages) -> list[Any]:
    """Items of the Responses API."""
    found: list[Any] = []
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use":
                arguments = json.dumps(block["input"])
                call = {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments}
                found.append(call)
            elif block["type"] == "tool_result":
                told = {"type": "function_call_output", "call_id": block["tool_use_id"], "output": block["content"]}
                found.append(told)
            else:
                found.append({"role": message["role"], "content": block["text"]})
    return found


def from_items(items: Sequence[Any]) -> Messages:
    """The same back in Anthropic's form."""
    found: Messages = []
    for item in items:
        if item.get("type") == "function_call":
            args = json.loads(item["arguments"])
            block = {"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": args}
            role = "assistant"
        elif item.get("type") == "function_call_output":
            block = {"type": "tool_result", "tool_use_id": item["call_id"], "content": item["output"]}
            role = "user"
        else:
            block, role = {"type": "text", "text": item["content"]}, item["role"]
        found.append({"role": role, "content": [block]})
    return found


def chat_of(messages: Messages) -> list[Any]:
    """Chat messages of OpenAI."""
    found: list[Any] = [{"role": "system", "content": "Be kind."}]
    for message in messages:
        blocks = message["content"]
        found += [
            {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
            for block in blocks
            if block["type"] == "tool_result"
        ]
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [
            {
                "id": block["id"],
                "type": "function",
                "function": {"name": block["name"], "arguments": json.dumps(block["input"])},
            }
            for block in blocks
            if block["type"] == "tool_use"
        ]
        if calls:
            found.append({"role": "assistant", "content": text or None, "tool_calls": calls})
        elif text:
            found.append({"role": message["role"], "content": text})
    return found


def from_chat(messages: Sequence[Any]) -> Messages:
    """The same back in Anthropic's form."""
    found: Messages = []
    for message in messages:
        blocks: list[Any] = []
        if message["role"] == "tool":
            content = message["content"]
            blocks.append({"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content})
        elif message["content"]:
            blocks.append({"type": "text", "text": message["content"]})
        for call in message.get("tool_calls", ()):
            args = json.loads(call["function"]["arguments"])
            blocks.append({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": args})
        found.append({"role": "user" if message["role"] == "tool" else message["role"], "content": blocks})
    return found
