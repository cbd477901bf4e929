"""The services that the stand-in has."""
from .s3 import S3


def all_of(world):
    return [S3(world)]
