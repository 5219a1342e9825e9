"""How the server is reached over HTTP: where it listens, who may call, and how much."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

PORT = 8321
PATH = "/mcp"
HEALTH = "/health"
LIVE = "/live"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What `serve --http` was told. Picklable: each worker is given one."""

    address: str = "127.0.0.1"
    """A name or an IP address of this machine, without brackets."""
    port: int = PORT
    """0: any that is free."""
    tokens: str = ""
    """Path of the file of tokens; empty: none."""
    issuer: str = ""
    """URL of the authorization server whose access tokens are taken; empty: none."""
    public_url: str = ""
    """The URL under which clients reach `/mcp`; needed with `issuer`, as the audience of its tokens."""
    scopes: tuple[str, ...] = ()
    """What a token of the issuer must allow."""
    hosts: tuple[str, ...] = ()
    """Further values of the Host header that are answered; `name:*` for any port."""
    origins: tuple[str, ...] = ()
    """Further values of the Origin header that are answered; a page elsewhere is refused."""
    workers: int = 1
    """Processes. With more than one, the older protocol has no sessions of its own (docs/tools.md)."""
    rate: float = 0.0
    """Requests a second and caller, in the long run; 0: no limit."""
    time_limit_s: float = 300.0
    """A call that takes longer is cancelled, and answered by that."""
    max_body: int = 16 << 20
    """Bytes of a request."""
    tls_cert: str = ""
    tls_key: str = ""
    drain_s: float = 0.0
    """So long after SIGTERM it goes on answering, and says at `/health` that it ends: a balancer sends no more."""

    @property
    def has_tokens(self) -> bool:
        """Whether a caller has to show who it is."""
        return bool(self.tokens or self.issuer)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.address)

    def url(self, port: int) -> str:
        """Where a client on this machine finds it."""
        name = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.tls_cert else 'http'}://{name}:{port}{PATH}"


def is_loopback(name: str) -> bool:
    """Whether a host name or address can only be this machine."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
