"""A throw-away certificate authority, and certificates that it signs for servers on loopback."""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

VALID = datetime.timedelta(days=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Authority:
    """The authority's certificate, in `file`, and what it needs to sign others."""

    file: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerCertificate:
    """Certificate and key of a server, as files and as objects."""

    certificate_file: Path
    key_file: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make_authority(folder: Path) -> Authority:
    """A new authority, good for two days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rdlc tests")])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "authority.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(file=file, certificate=certificate, key=key)


def issue(authority: Authority, folder: Path, *names: str) -> ServerCertificate:
    """A certificate for loopback and for these host names."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    certificate = (
        _builder(subject, authority.certificate.subject, key.public_key())
        .add_extension(x509.SubjectAlternativeName(_hosts(names)), critical=False)
        .add_extension(
            # Python 3.13 asks for it.
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
        .sign(authority.key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "server.pem", folder / "server.key"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return ServerCertificate(certificate_file=certificate_file, key_file=key_file, certificate=certificate, key=key)


def _hosts(names: Sequence[str]) -> list[x509.GeneralName]:
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return [loopback, *(x509.DNSName(name) for name in ("localhost", *names))]


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID)
        .not_valid_after(now + VALID)
    )
