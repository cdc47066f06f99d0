"""Whom an https client trusts."""

import ssl

import pytest

from lbb import AsyncLbbClient, LbbClient
from lbb.tls import tls_context


def test_a_secure_client_trusts_the_known_authorities_and_checks_names() -> None:
    context = tls_context(is_secure=True)

    assert len(context.get_ca_certs()) > 50
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_plain_client_trusts_nobody_rather_than_everybody() -> None:
    context = tls_context(is_secure=False)

    assert context.get_ca_certs() == []
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])
def test_the_address_decides(cls: type[LbbClient]) -> None:
    assert cls("https://server.test")._settings.is_secure
    assert not cls("http://server.test")._settings.is_secure
