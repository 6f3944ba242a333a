"""Whether a TLS certificate works: a whole handshake with it, in memory."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path


def expires(path: Path) -> datetime:
    """When the certificate in a PEM file ends; checks that its key belongs to it and that it is valid now.

    Raises:
        OSError: unreadable; ``ssl.SSLError`` is one, e.g. key and certificate do not belong together, or the
            certificate has expired.
    """
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(path)
    client_side = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_side.check_hostname = False
    client_side.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN  # whoever signed it
    client_side.load_verify_locations(path)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_side.wrap_bio(to_client, to_server)
    server = server_side.wrap_bio(to_server, to_client, server_side=True)
    # Each side waits for the other in turn: hello, certificate, finished.
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    certificate = client.getpeercert()
    assert certificate is not None
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
