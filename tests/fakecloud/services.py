"""The services that the stand-in has."""
from .aws_login import Oidc, Sso
from .aws_metadata import Container, Imds
from .aws_sts import Sts
from .s3 import S3

ALL = (S3, Sts, Sso, Oidc, Container, Imds)


def all_of(world):
    return [kind(world) for kind in ALL]
