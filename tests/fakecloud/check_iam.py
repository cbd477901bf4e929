"""IAM, what S3 keeps about a bucket, and what policies let pass, against botocore."""
import json

from check_ec2 import DEFAULTS, client, code_of, image, wait_for

TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"},
    "Action": "sts:AssumeRole"}]})


def policy(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(actions, resources, **more):
    return dict({"Effect": "Allow", "Action": actions, "Resource": resources}, **more)


def make_role(iam, name="r", *statements):
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST,
                    Tags=[{"Key": "t", "Value": "v"}])
    iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=policy(*statements))


def test_iam_roles(cloud):
    iam = client(cloud, "iam")
    assert code_of(iam.get_role, RoleName="r") == "NoSuchEntity"
    make_role(iam, "r", allow("s3:GetObject", ["arn:aws:s3:::bucket/*"]))
    assert code_of(iam.create_role, RoleName="r", AssumeRolePolicyDocument=TRUST) == \
        "EntityAlreadyExists"
    role = iam.get_role(RoleName="r")["Role"]
    assert role["Arn"] == "arn:aws:iam::123456789012:role/r", role
    assert role["Tags"] == [{"Key": "t", "Value": "v"}]
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Action"] == "sts:AssumeRole"
    held = iam.get_role_policy(RoleName="r", PolicyName="p")["PolicyDocument"]
    assert held["Statement"][0]["Resource"] == "arn:aws:s3:::bucket/*", held
    assert iam.list_role_policies(RoleName="r")["PolicyNames"] == ["p"]
    for bad in ("{", policy(), policy({"Effect": "Allow", "Action": "x"}),
                policy(allow("s3:GetObject", "bucket")),
                policy(allow("s3:GetObject", "*", Condition={"Near": {"a": "b"}}))):
        assert code_of(iam.put_role_policy, RoleName="r", PolicyName="q",
                       PolicyDocument=bad) == "MalformedPolicyDocument", bad
    assert code_of(iam.delete_role, RoleName="r") == "DeleteConflict"
    iam.delete_role_policy(RoleName="r", PolicyName="p")
    assert code_of(iam.get_role_policy, RoleName="r", PolicyName="p") == "NoSuchEntity"
    iam.delete_role(RoleName="r")
    assert code_of(iam.get_role, RoleName="r") == "NoSuchEntity"


def test_iam_profiles(cloud):
    iam = client(cloud, "iam")
    make_role(iam, "r", allow("s3:*", "*"))
    iam.create_instance_profile(InstanceProfileName="i")
    assert iam.get_instance_profile(InstanceProfileName="i")["InstanceProfile"]["Roles"] == []
    iam.add_role_to_instance_profile(InstanceProfileName="i", RoleName="r")
    found = iam.get_instance_profile(InstanceProfileName="i")["InstanceProfile"]
    assert found["Roles"][0]["RoleName"] == "r" and found["Arn"].endswith("profile/i")
    assert code_of(iam.add_role_to_instance_profile, InstanceProfileName="i",
                   RoleName="r") == "LimitExceeded"
    assert code_of(iam.create_instance_profile, InstanceProfileName="i") == \
        "EntityAlreadyExists"
    assert code_of(iam.delete_instance_profile, InstanceProfileName="i") == "DeleteConflict"
    iam.remove_role_from_instance_profile(InstanceProfileName="i", RoleName="r")
    iam.delete_instance_profile(InstanceProfileName="i")
    assert code_of(iam.get_instance_profile, InstanceProfileName="i") == "NoSuchEntity"


def test_iam_refusals_and_delay(cloud):
    cloud.control("keys", {"id": "AKIADENIED", "secret": "s", "arn": "arn:aws:iam::1:user/d",
                           "deny": ["iam:CreateRole"]})
    poor = client(cloud, "iam", id="AKIADENIED", secret="s")
    assert code_of(poor.create_role, RoleName="r", AssumeRolePolicyDocument=TRUST) == \
        "AccessDenied"
    assert code_of(client(cloud, "iam", secret="wrong").get_role, RoleName="r") == \
        "SignatureDoesNotMatch"
    assert code_of(client(cloud, "iam", region="eu-west-1").get_role, RoleName="r") in (
        "NoSuchEntity", "SignatureDoesNotMatch")
    cloud.set(iam_delay=1)
    iam = client(cloud, "iam")
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)
    assert code_of(iam.get_role, RoleName="r") == "NoSuchEntity"
    assert code_of(iam.create_role, RoleName="r", AssumeRolePolicyDocument=TRUST) == \
        "EntityAlreadyExists"
    wait_for(lambda: code_of(iam.get_role, RoleName="r") is None)


def test_iam_profile_at_ec2(cloud):
    iam, ec2 = client(cloud, "iam"), client(cloud)
    cloud.control("config", {"ec2": {"profiles": []}})
    ask = dict(DEFAULTS, ImageId=image(ec2), DryRun=True, IamInstanceProfile={"Name": "i"})
    assert code_of(ec2.run_instances, **ask) == "InvalidParameterValue"
    make_role(iam, "r", allow("s3:*", "*"))
    iam.create_instance_profile(InstanceProfileName="i")
    assert code_of(ec2.run_instances, **ask) == "InvalidParameterValue"
    iam.add_role_to_instance_profile(InstanceProfileName="i", RoleName="r")
    assert code_of(ec2.run_instances, **ask) == "DryRunOperation"


def test_bucket_settings(cloud):
    s3 = client(cloud, "s3")
    s3.create_bucket(Bucket="made")
    block = s3.get_public_access_block(Bucket="made")["PublicAccessBlockConfiguration"]
    assert all(block.values()) and len(block) == 4
    assert code_of(s3.get_public_access_block, Bucket="bucket") == \
        "NoSuchPublicAccessBlockConfiguration"
    s3.put_public_access_block(Bucket="bucket", PublicAccessBlockConfiguration=dict(
        block, BlockPublicAcls=False))
    assert s3.get_public_access_block(Bucket="bucket")["PublicAccessBlockConfiguration"][
        "BlockPublicAcls"] is False
    sse = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
    assert code_of(s3.get_bucket_encryption, Bucket="bucket") == \
        "ServerSideEncryptionConfigurationNotFoundError"
    s3.put_bucket_encryption(Bucket="bucket", ServerSideEncryptionConfiguration=sse)
    assert s3.get_bucket_encryption(Bucket="bucket")["ServerSideEncryptionConfiguration"][
        "Rules"] == sse["Rules"]
    rule = {"ID": "a", "Filter": {"Prefix": "p/"}, "Status": "Enabled",
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}
    assert code_of(s3.get_bucket_lifecycle_configuration, Bucket="made") == \
        "NoSuchLifecycleConfiguration"
    s3.put_bucket_lifecycle_configuration(Bucket="made",
                                          LifecycleConfiguration={"Rules": [rule]})
    assert s3.get_bucket_lifecycle_configuration(Bucket="made")["Rules"] == [rule]
    assert code_of(s3.put_bucket_lifecycle_configuration, Bucket="made",
                   LifecycleConfiguration={"Rules": [rule, rule]}) == "InvalidArgument"
    s3.delete_bucket_lifecycle(Bucket="made")
    assert code_of(s3.get_bucket_lifecycle_configuration, Bucket="made") == \
        "NoSuchLifecycleConfiguration"
    assert code_of(s3.get_bucket_tagging, Bucket="made") == "NoSuchTagSet"
    s3.put_bucket_tagging(Bucket="made", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    assert s3.get_bucket_tagging(Bucket="made")["TagSet"] == [{"Key": "k", "Value": "v"}]
    assert s3.get_bucket_location(Bucket="made")["LocationConstraint"] is None


def test_bucket_of_others(cloud):
    s3 = client(cloud, "s3")
    cloud.control("buckets", {"name": "theirs", "owner": "999999999999"})
    assert code_of(s3.create_bucket, Bucket="theirs") == "BucketAlreadyExists"
    assert code_of(s3.head_bucket, Bucket="theirs") == "403"
    assert code_of(s3.list_objects_v2, Bucket="theirs") == "AccessDenied"
    assert code_of(s3.list_objects_v2, Bucket="bucket",
                   ExpectedBucketOwner="999999999999") == "AccessDenied"
    s3.list_objects_v2(Bucket="bucket", ExpectedBucketOwner="123456789012")


ONCE = {"Sid": "Once", "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject",
        "Resource": "arn:aws:s3:::bucket/events/*",
        "Condition": {"Null": {"s3:if-none-match": "true"},
                      "Bool": {"s3:ObjectCreationOperation": "true"}}}


def test_bucket_policy_demands_conditions(cloud):
    s3 = client(cloud, "s3")
    assert code_of(s3.get_bucket_policy, Bucket="bucket") == "NoSuchBucketPolicy"
    assert code_of(s3.put_bucket_policy, Bucket="bucket", Policy=policy(dict(
        ONCE, Resource="arn:aws:s3:::other/*"))) == "MalformedPolicy"
    s3.put_bucket_policy(Bucket="bucket", Policy=policy(ONCE))
    assert json.loads(s3.get_bucket_policy(Bucket="bucket")["Policy"])["Statement"] == [ONCE]
    assert code_of(s3.put_object, Bucket="bucket", Key="events/1", Body=b"x") == "AccessDenied"
    s3.put_object(Bucket="bucket", Key="other", Body=b"x")
    ask = {"Bucket": "bucket", "Key": "events/2"}
    upload = s3.create_multipart_upload(**ask)["UploadId"]
    etag = s3.upload_part(UploadId=upload, PartNumber=1, Body=b"x", **ask)["ETag"]
    assert code_of(s3.complete_multipart_upload, UploadId=upload, MultipartUpload={
        "Parts": [{"ETag": etag, "PartNumber": 1}]}, **ask) == "AccessDenied"
    s3.meta.events.register("before-call.s3.PutObject", condition)
    s3.put_object(Bucket="bucket", Key="events/1", Body=b"x")
    assert code_of(s3.put_object, Bucket="bucket", Key="events/1", Body=b"y") == \
        "PreconditionFailed"
    s3.delete_bucket_policy(Bucket="bucket")
    assert code_of(s3.get_bucket_policy, Bucket="bucket") == "NoSuchBucketPolicy"


def condition(params, **kwargs):
    params["headers"]["If-None-Match"] = "*"


def test_bucket_policy_source(cloud):
    s3 = client(cloud, "s3")
    s3.put_object(Bucket="bucket", Key="k", Body=b"x")
    s3.put_bucket_policy(Bucket="bucket", Policy=policy({
        "Effect": "Deny", "Principal": "*", "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::bucket/*",
        "Condition": {"NotIpAddress": {"aws:SourceIp": ["203.0.113.0/24"]}}}))
    assert code_of(s3.get_object, Bucket="bucket", Key="k") == "AccessDenied"
    cloud.set(source_ip="203.0.113.9")
    assert s3.get_object(Bucket="bucket", Key="k")["Body"].read() == b"x"


def test_iam_role_of_a_machine(cloud):
    """Keys of a role that IAM has may do what its policies say, and no more."""
    iam, s3 = client(cloud, "iam"), client(cloud, "s3")
    make_role(iam, "node", allow(["s3:GetObject", "s3:PutObject"], "arn:aws:s3:::bucket/p/*"))
    got = client(cloud, "sts").assume_role(RoleArn="arn:aws:iam::123456789012:role/node",
                                           RoleSessionName="me")["Credentials"]
    node = client(cloud, "s3", id=got["AccessKeyId"], secret=got["SecretAccessKey"],
                  token=got["SessionToken"])
    node.put_object(Bucket="bucket", Key="p/k", Body=b"x")
    s3.put_object(Bucket="bucket", Key="q", Body=b"x")
    assert code_of(node.get_object, Bucket="bucket", Key="q") == "AccessDenied"
    assert code_of(node.delete_object, Bucket="bucket", Key="p/k") == "AccessDenied"
    # what is not there is only told to who may list
    assert code_of(node.get_object, Bucket="bucket", Key="p/none") == "AccessDenied"
    listing = {"Condition": {"StringLike": {"s3:prefix": "p/*"}}}
    may_list = allow("s3:ListBucket", "arn:aws:s3:::bucket", **listing)
    iam.put_role_policy(RoleName="node", PolicyName="l", PolicyDocument=policy(may_list))
    assert node.list_objects_v2(Bucket="bucket", Prefix="p/k")["KeyCount"] == 1
    assert code_of(node.list_objects_v2, Bucket="bucket") == "AccessDenied"
    assert code_of(node.get_object, Bucket="bucket", Key="p/none") == "AccessDenied"
    may_list["Condition"] = {"StringLikeIfExists": {"s3:prefix": "p/*"}}
    iam.put_role_policy(RoleName="node", PolicyName="l", PolicyDocument=policy(may_list))
    assert code_of(node.get_object, Bucket="bucket", Key="p/none") == "NoSuchKey"
    assert code_of(node.list_objects_v2, Bucket="bucket", Prefix="q") == "AccessDenied"
    told = node.delete_objects(Bucket="bucket", Delete={"Objects": [{"Key": "p/k"}]})
    assert told["Errors"][0]["Code"] == "AccessDenied", told
