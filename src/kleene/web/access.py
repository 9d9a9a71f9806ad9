"""Who may ask: the names in `Host`, the site in `Origin`, and the token.

A page of another site can make a browser send requests to this server, and can point a name of its
own at this machine (DNS rebinding). The first shows in `Origin`, the second in `Host`.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from ipaddress import ip_address

from starlette.datastructures import Headers

from kleene.errors import SettingError
from kleene.web.limits import RefusedError

OPEN = ("/", "/kleene.js", "/kleene.css", "/health", "/ready")
"""Paths that need no token: they tell nothing about the models."""
PROBES = ("/health", "/ready")
"""Paths that answer under any host name: probes use the address of a container."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The rules of one server."""

    local: bool = False
    """Whether the server answers only to names of this machine, and to `hosts`."""
    hosts: frozenset[str] = frozenset()
    """Names to answer to; if there are any, all others are refused."""
    token: str | None = None

    @classmethod
    def for_address(
        cls, address: str, *, hosts: tuple[str, ...] = (), token: str | None = None
    ) -> Access:
        """The rules for a server that listens on an address.

        On the loopback (127/8, ::1) the names of this machine are enough. Any other address needs
        a token or the names to answer to; otherwise any web page could reach the server.
        """
        local = is_local(address)
        if not (local or hosts or token):
            raise SettingError(
                f"others can reach a server on {address}; set KLEENE_TOKEN, or name the hosts it "
                "answers to with --allow-host"
            )
        named = frozenset(host.lower().rstrip(".") for host in hosts)
        return cls(local=local, hosts=named, token=token)

    def check(self, path: str, headers: Headers) -> bool:
        """Refuse unknown hosts, pages of other sites and wrong tokens.

        Returns whether the client may learn what is served: some paths are open to others too.
        """
        if len(headers.getlist("authorization")) > 1:
            raise RefusedError(400, "send one Authorization header, got several")
        host = headers.get("host", "")
        known = not (self.local or self.hosts) or self._answers_to(host_name(host))
        if not known and path not in PROBES:
            cure = "open the server by its address, or start it with --allow-host NAME"
            raise RefusedError(403, f"unknown host name; {cure}")
        origin = headers.get("origin")
        here = origin is None or origin.partition("://")[2].lower() == (host.lower() or None)
        if not here or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise RefusedError(403, "pages of other sites may not ask this server")
        return self._has_token(path, headers) and known

    def _answers_to(self, name: str) -> bool:
        return name in self.hosts or (self.local and is_local(name))

    def _has_token(self, path: str, headers: Headers) -> bool:
        if self.token is None:
            return True
        sent = headers.get("authorization", "").encode("latin-1")
        if hmac.compare_digest(sent, f"Bearer {self.token}".encode()):
            return True
        if path not in OPEN:
            raise RefusedError(
                401, "a token is required; send the header Authorization: Bearer TOKEN"
            )
        return False


LOCAL = Access(local=True)


def is_local(name: str) -> bool:
    """Whether a name or an address always means this machine."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """The name in a Host header, without the port: `[::1]:80` and `[::1]` both give `::1`."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")
