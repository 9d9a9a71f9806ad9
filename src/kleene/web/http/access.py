"""Who may ask: the names in `Host`, the sites in `Origin`, and the token.

A page of another site can make a browser send requests to this server, and can point a name of its
own at this machine (DNS rebinding). The first shows in `Origin`, the second in `Host`.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from kleene.errors import SettingError
from kleene.web.http.limits import RefusedError

OPEN = ("/", "/kleene.js", "/kleene.css", "/health", "/ready")
"""Paths that need no token: they tell nothing about the models."""
PROBES = ("/health", "/ready")
"""Paths that answer under any host name: probes use the address of a container."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The rules of one server."""

    local: bool = False
    """Whether it answers to the names of this machine only, and those in `hosts`."""
    hosts: frozenset[str] = frozenset()
    """Further names it answers to; where there are any, no others are accepted."""
    origins: frozenset[str] = frozenset()
    """Sites whose pages may send requests, such as `https://example.org`."""
    token: str | None = None

    @classmethod
    def for_address(
        cls,
        address: str,
        *,
        hosts: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        token: str | None = None,
    ) -> Access:
        """The rules for a server that listens on an address.

        On this machine alone (127/8, ::1) the names of the machine are enough. Elsewhere a token
        or the names to answer to must be given, since any web page could reach the server else.
        """
        local = is_local(address)
        if not (local or hosts or token):
            raise SettingError(
                f"others can reach a server on {address}; set KLEENE_TOKEN or --token-file, "
                "or name the hosts it answers to with --allow-host"
            )
        for origin in origins:
            if not _is_origin(origin):
                raise SettingError(
                    f"--allow-origin must look like https://example.org, got {origin!r}"
                )
        named = frozenset(host.lower().rstrip(".") for host in hosts)
        return cls(local=local, hosts=named, origins=frozenset(origins), token=token)

    def check_sender(self, path: str, headers: Mapping[bytes, str]) -> bool:
        """Whether the host name is known; refuse unknown ones, and pages of other sites.

        Headers are by lower-case name. Probes are answered under any host name.
        """
        host = headers.get(b"host", "")
        known = not (self.local or self.hosts) or self._answers_to(host)
        if not known and path not in PROBES:
            cure = "open the server by its address, or start it with --allow-host NAME"
            raise RefusedError(403, f"unknown host name; {cure}")
        origin = headers.get(b"origin")
        if origin is not None and self.allows_origin(origin):
            return known
        foreign = origin is not None and _authority(origin) != host.lower()
        if foreign or headers.get(b"sec-fetch-site", "none") not in ("same-origin", "none"):
            raise RefusedError(
                403, "pages of other sites may not ask this server; start it with --allow-origin"
            )
        return known

    def check_token(self, path: str, headers: Mapping[bytes, str]) -> bool:
        """Whether the token was sent, or none is set; where it must be sent, refuse others."""
        if self.token is None:
            return True
        sent = headers.get(b"authorization", "").encode("latin-1")
        if hmac.compare_digest(sent, f"Bearer {self.token}".encode()):
            return True
        if path not in OPEN:
            raise RefusedError(
                401, "a token is required; send the header Authorization: Bearer TOKEN"
            )
        return False

    def allows_origin(self, origin: str) -> bool:
        """Whether pages of this site may read the answers."""
        return origin in self.origins

    def _answers_to(self, host: str) -> bool:
        name = host_name(host)
        return name in self.hosts or (self.local and is_local(name))


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


def _authority(origin: str) -> str | None:
    """What the Host header of a request from a page of this origin would be."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and text == f"{parts.scheme}://{parts.netloc}"
