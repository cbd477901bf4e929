"""What the policies of a role let it do in EC2 and beside it, against botocore."""
from check_ec2 import client, code_of, image
from check_iam import allow, make_role, policy

EC2 = "arn:aws:ec2:*:123456789012:"
OURS = {"Null": {"aws:RequestTag/ours": "false"}}
BEARS = {"Null": {"aws:ResourceTag/ours": "false"}}
TAG = [{"Key": "ours", "Value": "1"}]


def caller(cloud, service, *statements):
    """A client with a role that may do what these say."""
    iam = client(cloud, "iam")
    if code_of(iam.get_role, RoleName="node"):
        make_role(iam, "node", *statements)
    iam.put_role_policy(RoleName="node", PolicyName="p", PolicyDocument=policy(*statements))
    got = client(cloud, "sts").assume_role(RoleArn="arn:aws:iam::123456789012:role/node",
                                           RoleSessionName="me")["Credentials"]
    return client(cloud, service, id=got["AccessKeyId"], secret=got["SecretAccessKey"],
                  token=got["SessionToken"])


def tagged(*kinds):
    return [{"ResourceType": k, "Tags": TAG} for k in kinds]


BUY = [allow("ec2:RunInstances", [EC2 + k + "/*" for k in (
           "instance", "volume", "network-interface")], Condition=dict(
               OURS, StringEqualsIfExists={"ec2:MetadataHttpTokens": "required"})),
       allow("ec2:RunInstances", ["arn:aws:ec2:*::image/*", EC2 + "subnet/*",
                                  EC2 + "security-group/*"]),
       allow("ec2:CreateTags", EC2 + "*/*",
             Condition={"StringEquals": {"ec2:CreateAction": "RunInstances"}})]


def test_rights_to_buy(cloud):
    """Everything that a launch touches must be allowed, with its tags."""
    ask = {"ImageId": image(client(cloud)), "InstanceType": "t3.small", "MinCount": 1,
           "MaxCount": 1, "DryRun": True, "MetadataOptions": {"HttpTokens": "required"},
           "TagSpecifications": tagged("instance", "volume", "network-interface")}
    ec2 = caller(cloud, "ec2", *BUY)
    assert code_of(ec2.run_instances, **ask) == "DryRunOperation"
    for worse in ({"TagSpecifications": tagged("instance", "volume")},
                  {"MetadataOptions": {"HttpTokens": "optional"}},
                  {"InstanceMarketOptions": {"MarketType": "spot"}},
                  {"IamInstanceProfile": {"Name": "gpucloud-node"}},
                  {"Placement": {"GroupName": "g"}}):
        if "Placement" in worse:
            client(cloud).create_placement_group(GroupName="g", Strategy="cluster")
        assert code_of(ec2.run_instances, **dict(ask, **worse)) == \
            "UnauthorizedOperation", worse
    for i in range(len(BUY)):
        ec2 = caller(cloud, "ec2", *(BUY[:i] + BUY[i + 1:]))
        assert code_of(ec2.run_instances, **ask) == "UnauthorizedOperation", i
    assert code_of(ec2.describe_instances) == "UnauthorizedOperation"
    passing = allow("iam:PassRole", "arn:aws:iam::123456789012:role/gpucloud-node", Condition={
        "StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}})
    ec2 = caller(cloud, "ec2", passing, *BUY)
    assert code_of(ec2.run_instances, IamInstanceProfile={"Name": "gpucloud-node"}, **ask) == \
        "DryRunOperation"


def test_rights_to_end(cloud):
    """What bears the tag alone."""
    user = client(cloud)
    ask = {"ImageId": image(user), "InstanceType": "t3.small", "MinCount": 1, "MaxCount": 1}
    ours = user.run_instances(TagSpecifications=tagged("instance"), **ask)["Instances"][0]
    other = user.run_instances(**ask)["Instances"][0]
    ec2 = caller(cloud, "ec2", allow("ec2:TerminateInstances", EC2 + "instance/*",
                                     Condition=BEARS))
    both = [ours["InstanceId"], other["InstanceId"]]
    assert code_of(ec2.terminate_instances, InstanceIds=both) == "UnauthorizedOperation"
    assert code_of(ec2.terminate_instances, InstanceIds=both[:1]) is None


def test_rights_to_groups(cloud):
    """Security groups, and groups of Auto Scaling, which launch what they are made of."""
    user = client(cloud)
    vpc = user.describe_vpcs()["Vpcs"][0]["VpcId"]
    ask = {"GroupName": "g", "Description": "d", "VpcId": vpc,
           "TagSpecifications": tagged("security-group")}
    make = [allow("ec2:CreateSecurityGroup", EC2 + "security-group/*", Condition=OURS),
            allow("ec2:CreateSecurityGroup", EC2 + "vpc/*"),
            allow("ec2:CreateTags", EC2 + "*/*", Condition={
                "StringEquals": {"ec2:CreateAction": "CreateSecurityGroup"}})]
    for i in range(len(make)):
        ec2 = caller(cloud, "ec2", *(make[:i] + make[i + 1:]))
        assert code_of(ec2.create_security_group, **ask) == "UnauthorizedOperation", i
    ident = caller(cloud, "ec2", *make).create_security_group(**ask)["GroupId"]
    assert code_of(ec2.delete_security_group, GroupId=ident) == "UnauthorizedOperation"

    user.create_launch_template(LaunchTemplateName="ttt", LaunchTemplateData={
        "ImageId": image(user), "InstanceType": "t3.small",
        "MetadataOptions": {"HttpTokens": "required"},
        "TagSpecifications": tagged("instance", "volume", "network-interface")})
    group = {"AutoScalingGroupName": "a", "MinSize": 0, "MaxSize": 0,
             "AvailabilityZones": ["us-east-1a"], "LaunchTemplate": {"LaunchTemplateName": "ttt"},
             "Tags": [dict(TAG[0], PropagateAtLaunch=True)]}
    make = BUY + [allow("ec2:RunInstances", EC2 + "launch-template/*"),
                  allow("autoscaling:CreateAutoScalingGroup", "*", Condition=OURS),
                  allow("autoscaling:CreateOrUpdateTags", "*", Condition=OURS)]
    for i in range(len(make)):
        scaling = caller(cloud, "autoscaling", *(make[:i] + make[i + 1:]))
        assert code_of(scaling.create_auto_scaling_group, **group) == "AccessDenied", i
    scaling = caller(cloud, "autoscaling", *make, allow(
        "autoscaling:DeleteAutoScalingGroup", "*", Condition=BEARS))
    assert code_of(scaling.create_auto_scaling_group, **group) is None
    assert code_of(scaling.describe_auto_scaling_groups) == "AccessDenied"
    assert code_of(scaling.delete_auto_scaling_group, AutoScalingGroupName="a") is None


def test_rights_beside_ec2(cloud):
    name = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
    for may in (True, False):
        path = "/aws/service/*" if may else "/other/*"
        ssm = caller(cloud, "ssm", allow("ssm:GetParameter",
                                         "arn:aws:ssm:*::parameter" + path))
        assert code_of(ssm.get_parameter, Name=name) == (None if may else "AccessDenied")
        figures = caller(cloud, "cloudwatch", allow("cloudwatch:PutMetricData", "*", Condition={
            "StringEquals": {"cloudwatch:namespace": "ours" if may else "theirs"}}))
        assert code_of(figures.put_metric_data, Namespace="ours", MetricData=[
            {"MetricName": "m", "Value": 1}]) == (None if may else "AccessDenied")
    quotas = caller(cloud, "service-quotas", allow("ssm:GetParameter", "*"))
    assert code_of(quotas.get_service_quota, ServiceCode="ec2", QuotaCode="L-1216C47A") == \
        "AccessDenied"
