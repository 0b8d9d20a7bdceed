"""The one error of this package."""


class SamlError(Exception):
    """A SAML document was refused. The message may be shown to a person: it never quotes what a stranger sent."""
