"""The services that the stand-in has."""
from .alibaba_metadata import AlibabaLogin, CredentialsUri, EcsMetadata
from .alibaba_sts import AlibabaSts
from .auto_scaling import AutoScaling
from .aws_login import Oidc, Sso
from .aws_metadata import Container, Imds
from .aws_sts import Sts
from .checkip import CheckIp
from .cloudwatch import CloudWatch
from .ec2 import Ec2
from .gcs import Gcs
from .github import Github
from .google_metadata import GceMetadata
from .google_tokens import GoogleSts, IamCredentials, OAuth2
from .iam import Iam
from .json11 import ServiceQuotas, Ssm
from .oss import Oss
from .s3 import S3

ALL = (S3, Oss, Gcs, Ec2, AutoScaling, CloudWatch, Ssm, ServiceQuotas, Iam, Sts, Sso, Oidc, Container, Imds, AlibabaSts, EcsMetadata, CredentialsUri,
       AlibabaLogin, OAuth2, GoogleSts, IamCredentials, GceMetadata, Github, CheckIp)


def all_of(world):
    return [kind(world) for kind in ALL]
