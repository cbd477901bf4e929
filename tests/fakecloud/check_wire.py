"""That the stand-in holds requests against AWS's own descriptions."""
from selftest import Skip

from fakecloud import wire_model
from fakecloud.http1 import Failure

EC2 = ("ec2", "2016-11-15", "RunInstances")
GROUP = ("autoscaling", "2011-01-01", "CreateAutoScalingGroup")
LEAST = {"MinCount": "1", "MaxCount": "1"}


def refused(check, what, value):
    if wire_model.Loader is None:
        raise Skip("no botocore")
    try:
        check(*what, value)
    except Failure as failed:
        return failed.code
    return None


def form(what, **args):
    return refused(wire_model.check_form, what, {n.replace("_", "."): v for n, v in args.items()})


def test_wire_ec2(cloud):
    assert form(EC2, **LEAST, NetworkInterface_1_SecurityGroupId_1="sg-1") is None
    assert form(EC2, **LEAST, InstanceMarketOptions_SpotOptions_MaxPrice="1.5") is None
    assert form(EC2, **LEAST, NetworkInterfaces_1_SubnetId="s") == "UnknownParameter"
    assert form(EC2, **LEAST, TagSpecification_member_1_ResourceType="v") == "UnknownParameter"
    assert form(EC2, **LEAST, SecurityGroupId="sg-1") == "UnknownParameter"
    assert form(EC2, MinCount="1", MaxCount="one") == "InvalidParameterValue"
    assert form(EC2, **LEAST, UserData="{}") is None  # a string there, by its description
    assert form(EC2, MinCount="1") == "MissingParameter"


def test_wire_query(cloud):
    least = {"AutoScalingGroupName": "g", "MinSize": "0", "MaxSize": "1"}
    assert form(GROUP, **least, Tags_member_1_Key="k") is None
    assert form(GROUP, **least, Tags_1_Key="k") == "UnknownParameter"
    assert form(GROUP, **least, Size="1") == "UnknownParameter"


def test_wire_json(cloud):
    get = ("ssm", "", "GetParameter")
    assert refused(wire_model.check_document, get, {"Name": "n"}) is None
    assert refused(wire_model.check_document, get, {"name": "n"}) == "ValidationException"
    assert refused(wire_model.check_document, get, {"Name": 1}) == "SerializationException"
    assert refused(wire_model.check_document, get, {}) == "ValidationException"
