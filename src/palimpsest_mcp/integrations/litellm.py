"""LiteLLM proxy: a guardrail that shortens each request before it goes out. `litellm` itself is never installed by us.

    # palimpsest_guardrail.py, beside config.yaml
    from palimpsest_mcp.integrations.litellm import PalimpsestGuardrail

    # config.yaml
    guardrails:
      - guardrail_name: palimpsest
        litellm_params: {guardrail: palimpsest_guardrail.PalimpsestGuardrail, mode: pre_call, default_on: true}

Every request that names a session (`litellm_session_id`, `metadata.session_id`, or the id in Claude Code's
`metadata.user_id`) goes on as one; one that names none is known by its key, its system prompt and its first message.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from litellm.integrations.custom_guardrail import CustomGuardrail

from .conversation import plain, texts_in
from .window import Agent, AgentWindow

_FORMS = {"anthropic_messages": "anthropic", "responses": "openai", "aresponses": "openai"}
_OPTIONS = ("home", "window_tokens", "target", "policy", "keep_last", "thinking", "model", "above_tokens")


class PalimpsestGuardrail(CustomGuardrail):
    """Options of `WindowOptions` may stand in the guardrail's `litellm_params`, or come as keywords.

    Args:
        window: shared with others; None makes one of the options.
    """

    def __init__(self, window: AgentWindow | None = None, **more: Any) -> None:
        options: Any = {name: more.pop(name) for name in _OPTIONS if name in more}
        super().__init__(**more)
        self.window = window or AgentWindow(host="litellm", **options)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> Any:
        """The request with digests in the place of old results; it is not changed where nothing is."""
        key = "messages" if isinstance(data.get("messages"), list) else "input"
        messages = data.get(key)
        if not isinstance(messages, list) or not messages:
            return data
        system = data.get("system") if "system" in data else data.get("instructions")
        shorter = await self.window.ashortened_list(
            Agent(self.session_of(data, messages, str(getattr(user_api_key_dict, "token", "") or ""))),
            messages,
            model=str(data.get("model") or ""),
            system=texts_in(system),
            form=_FORMS.get(str(getattr(call_type, "value", call_type)), "auto"),
        )
        return {**data, key: shorter} if shorter is not messages else data

    def session_of(self, data: Mapping[str, Any], messages: list[Any], key: str) -> str:
        """The session of a request; ids of two keys never meet, so that nobody learns of another's by its name."""
        owner = hashlib.sha256(key.encode()).hexdigest()[:12]
        return f"litellm-{owner}-{_told(data) or _first_of(data, messages)}"


def _told(data: Mapping[str, Any]) -> str:
    if isinstance(told := data.get("litellm_session_id"), str) and told:
        return told
    for name in ("metadata", "litellm_metadata"):
        fields = data.get(name)
        if not isinstance(fields, Mapping):
            continue
        if isinstance(told := fields.get("session_id"), str) and told:
            return told
        user = fields.get("user_id")
        if isinstance(user, str) and "session" in user:
            return hashlib.sha256(user.encode()).hexdigest()[:16]
    return ""


def _first_of(data: Mapping[str, Any], messages: list[Any]) -> str:
    first = next((one for one in messages if isinstance(one, Mapping) and one.get("role") == "user"), messages[0])
    text = json.dumps(plain([data.get("system"), first]), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
