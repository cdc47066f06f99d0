"""Whom an https:// server must be vouched for by: the system's authorities and those of certifi."""

import ssl

import certifi


def tls_context(*, is_secure: bool) -> ssl.SSLContext:
    """For plain http a context that trusts nobody: loading authorities takes 20 ms, and nothing would use them."""
    if not is_secure:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # A private authority is usually installed in the system; a Python without system authorities has certifi's.
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
