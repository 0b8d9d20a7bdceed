"""Our own key, and the keys that a provider may have. Keeping them is left to the caller's storage."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID
from msgspec import Struct

from .errors import SamlError

CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)


class Keypair(Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: str
    private_key: str

    def __repr__(self) -> str:
        """Without the private key: a repr ends up in logs."""
        return f"Keypair(certificate={self.certificate[:64]!r}…)"


def make_keypair(common_name: str = "penstock") -> Keypair:
    """RSA, as every identity provider understands it; the certificate is only a wrapping for the key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=3072)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.now(UTC).replace(microsecond=0)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3653))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Keypair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM).decode(),
        private_key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    )


def sign(keypair: Keypair, message: bytes) -> bytes:
    """RSA-SHA256, the algorithm that `request` announces."""
    # Checking the primes of our own key anew would take most of a second at every sign-in.
    key = serialization.load_pem_private_key(
        keypair.private_key.encode(), password=None, unsafe_skip_rsa_key_validation=True
    )
    if not isinstance(key, rsa.RSAPrivateKey):
        raise SamlError("The key of this service must be an RSA key.")
    return key.sign(message, padding.PKCS1v15(), hashes.SHA256())


def provider_certificate(der: bytes) -> str:
    """A provider's certificate as PEM, if its key is one that we would believe.

    Its dates and its issuer mean nothing here: the metadata that the operator registered is what vouches for the key.
    """
    try:
        certificate = x509.load_der_x509_certificate(der)
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SamlError("A signing certificate in the metadata cannot be read.") from error
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < 2048:
            raise SamlError(
                f"A signing key in the metadata is too short: {key.key_size} bits, at least 2048 are needed."
            )
    elif not (isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, CURVES)):
        raise SamlError("A signing key in the metadata is neither RSA nor on the curve P-256, P-384 or P-521.")
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
