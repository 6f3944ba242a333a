"""The ``[sip]`` section of the configuration."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

Codec = Literal["opus", "G722", "PCMU", "PCMA"]
Transport = Literal["udp", "tcp", "tls"]


class SipSettings(BaseModel):
    """How the bot is reached and what it accepts. Contradictions are refused when it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interface: str = Field(
        "127.0.0.1",
        min_length=1,
        description="local IP address to listen on and to put in SDP; the default is reachable from this machine only",
    )
    port: int = Field(5060, ge=1, le=65534, description="SIP port for UDP and TCP; TLS listens on the next one")
    transports: tuple[Transport, ...] = Field(("udp", "tcp"), min_length=1, description="any of udp, tcp, tls")
    tls_certificate: Path | None = Field(None, description="PEM file with the certificate and its private key")
    tls_ca_file: Path | None = Field(None, description="PEM file of the authorities that may sign a peer's certificate")
    tls_verify: bool = Field(True, description="check the certificate of servers that we connect to")

    codecs: tuple[Codec, ...] = Field(
        ("opus", "G722", "PCMU", "PCMA"), min_length=1, description="offered and accepted, best first"
    )
    srtp: Literal["off", "optional", "required"] = Field("off", description="SRTP with SDES keys (RFC 4568)")
    dtmf: Literal["rfc4733", "info", "auto"] = Field("rfc4733", description="how we send digits; both are received")

    registrar: str | None = Field(
        None, description="host or host:port to register with; empty for an IP trunk without registration"
    )
    user: str = Field("voxtrunk", min_length=1, description="user part of our own address")
    domain: str | None = Field(
        None, description="domain of our own address; default: the registrar, else the interface"
    )
    auth_user: str | None = Field(None, description="digest user name, where it differs from user")
    password: SecretStr = Field(SecretStr(""), description="digest password; better from VOXTRUNK_SIP__PASSWORD")
    registration_interval_s: int = Field(600, ge=60, le=86400, description="registration refresh in seconds")
    outbound_proxy: str | None = Field(None, description="send every outgoing request through this SIP URI")

    rtp_port_min: int = Field(20000, ge=1024, le=65534, description="first UDP port for media")
    rtp_port_max: int = Field(20999, ge=1025, le=65535, description="last UDP port for media")
    rtp_timeout_s: int = Field(30, ge=0, le=3600, description="end a call that sends no RTP for this long; 0: never")
    jitter_buffer_ms: int = Field(20, ge=0, le=200, description="fixed receive delay; 20-30 for low latency")

    max_calls: int = Field(8, ge=1, le=1000, description="calls at once; more are refused")
    busy_status: Literal[486, 503] = Field(486, description="SIP status for a call beyond max_calls")
    drain_limit_s: float = Field(60.0, ge=0, le=3600, description="how long SIGTERM lets live calls go on")
    allowed_sources: tuple[IPv4Network | IPv6Network, ...] = Field(
        (), description="networks that may call (others get 403); empty: everybody"
    )
    max_new_calls_per_s: Annotated[float, Field(ge=0.1, le=1000)] = Field(
        10.0, description="new calls a second from one source address; more are refused with 503"
    )
    expose_headers: tuple[str, ...] = Field(
        ("X-Twilio-CallSid", "Diversion"), max_length=12, description="INVITE headers that flows may read"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if "tls" in self.transports and self.tls_certificate is None:
            raise ValueError("sip.transports has tls, so sip.tls_certificate must name a PEM file")
        for name in ("tls_certificate", "tls_ca_file"):
            path: Path | None = getattr(self, name)
            if path is not None and not path.is_file():
                raise ValueError(f"sip.{name}: no such file: {path}")
        if self.rtp_port_max - self.rtp_port_min < 2 * self.max_calls:
            raise ValueError(
                f"sip.rtp_port_min..rtp_port_max holds {self.rtp_port_max - self.rtp_port_min + 1} ports; "
                f"{self.max_calls} calls need {2 * self.max_calls + 1}"
            )
        if len(set(self.codecs)) != len(self.codecs):
            raise ValueError("sip.codecs names a codec twice")
        return self
