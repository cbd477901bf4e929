"""EC2's stand-in against botocore, and its machines by what they do."""
import base64
import socket
import time
import urllib.request

from selftest import Skip

from fakecloud import boot
from fakecloud.ec2_types import TYPES

NAMES = {"autoscaling": "auto_scaling", "service-quotas": "servicequotas"}
DEFAULTS = {"MinCount": 1, "MaxCount": 1, "InstanceType": "g5.xlarge"}


def client(cloud, service="ec2", region="us-east-1", **key):
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise Skip("no boto3") from None
    held = cloud.config["aws"]["keys"][0]
    return boto3.client(service, endpoint_url=cloud.http[NAMES.get(service, service)],
                        region_name=region,
                        aws_access_key_id=key.get("id", held["id"]),
                        aws_secret_access_key=key.get("secret", held["secret"]),
                        aws_session_token=key.get("token"),
                        config=Config(retries={"max_attempts": 0}))


def code_of(work, **args):
    from botocore.exceptions import ClientError
    try:
        work(**args)
    except ClientError as failed:
        return failed.response["Error"]["Code"]
    return None


def image(ec2, arch="x86_64"):
    found = ec2.describe_images(Owners=["099720109477"], Filters=[
        {"Name": "architecture", "Values": [arch]}])["Images"]
    assert len(found) == 1, found
    return found[0]["ImageId"]


def run(ec2, **more):
    return ec2.run_instances(**dict(dict(DEFAULTS, ImageId=image(ec2)), **more))["Instances"]


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "in vain"
        time.sleep(0.05)


def state(ec2, ident):
    found = ec2.describe_instances(InstanceIds=[ident])["Reservations"][0]["Instances"][0]
    return found["State"]["Name"], found.get("StateReason", {}).get("Code")


def test_ec2_life_of_an_instance(cloud):
    ec2 = client(cloud)
    made = run(ec2, ClientToken="one", InstanceMarketOptions={"MarketType": "spot"},
               MinCount=2, MaxCount=2, Placement={"AvailabilityZone": "us-east-1b"},
               TagSpecifications=[{"ResourceType": "instance",
                                   "Tags": [{"Key": "gpucloud-job", "Value": "a b"}]}])
    ids = [m["InstanceId"] for m in made]
    assert len(set(ids)) == 2 and made[0]["State"]["Name"] == "pending"
    assert made[0]["InstanceLifecycle"] == "spot"
    wait_for(lambda: state(ec2, ids[0])[0] == "running")
    wanted = [{"Name": "tag:gpucloud-job", "Values": ["a*"]},
              {"Name": "instance-state-name", "Values": ["running", "pending"]}]
    found = ec2.describe_instances(Filters=wanted)["Reservations"]
    assert sorted(r["Instances"][0]["InstanceId"] for r in found) == sorted(ids)
    assert not ec2.describe_instances(Filters=[{"Name": "client-token", "Values": ["two"]}])[
        "Reservations"]
    ec2.terminate_instances(InstanceIds=ids)
    wait_for(lambda: state(ec2, ids[1])[0] == "terminated")
    assert state(ec2, ids[1])[1] == "Client.UserInitiatedShutdown"
    told = cloud.control("machines")
    assert [m["seconds"] >= 60 for m in told["machines"]] == [True, True]
    # two machines, a minute each, at 31 % of 1.006 dollars, a disk and an address
    micros = 1006000 * 31 // 100
    assert told["micros"] == 2 * sum(-(-m // of) for m, of in (
        (micros * 60, 3600), (8 * 80000 * 60, 730 * 3600), (5000 * 60, 3600))), told
    told = cloud.control("machines", {"id": ids[0], "do": "older", "seconds": 3600})
    assert told["seconds"] in (3601, 3602)  # it ended within two
    assert told["bill"]["machine"] == -(-micros * told["seconds"] // 3600), told


def test_ec2_token(cloud):
    ec2 = client(cloud)
    place = {"Placement": {"AvailabilityZone": "us-east-1a"}}
    first = run(ec2, ClientToken="t", **place)[0]["InstanceId"]
    assert run(ec2, ClientToken="t", **place)[0]["InstanceId"] == first
    assert code_of(run, ec2=ec2, ClientToken="t", InstanceType="g6.xlarge", **place) == \
        "IdempotentParameterMismatch"
    other = run(ec2, ClientToken="t", Placement={"AvailabilityZone": "us-east-1b"})
    assert other[0]["InstanceId"] != first
    cloud.fault("reset", service="ec2", operation="RunInstances", effect=True)
    from botocore.exceptions import BotoCoreError
    try:
        run(ec2, ClientToken="lost", **place)
        raise AssertionError("an answer that was to be lost")
    except BotoCoreError:
        pass
    assert len(run(ec2, ClientToken="lost", **place)) == 1
    assert len(cloud.control("machines")["machines"]) == 3


def test_ec2_refusals(cloud):
    ec2 = client(cloud)
    cloud.control("config", {"ec2": {
        "capacity": {"us-east-1a/g5.*/spot": 1}, "quotas": {"us-east-1/L-DB2E81BA": 4},
        "not_offered": ["us-east-1c/*"]}})
    zone = {"Placement": {"AvailabilityZone": "us-east-1a"}}
    spot = {"InstanceMarketOptions": {"MarketType": "spot"}}
    run(ec2, **zone, **spot)
    assert code_of(run, ec2=ec2, **zone, **spot) == "InsufficientInstanceCapacity"
    run(ec2, **zone)
    assert code_of(run, ec2=ec2, **zone) == "VcpuLimitExceeded"
    assert code_of(run, ec2=ec2, Placement={"AvailabilityZone": "us-east-1c"}) == "Unsupported"
    low = {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.1"}}}
    assert code_of(run, ec2=ec2, **low) == "SpotMaxPriceTooLow"
    for wrong, code in (({"InstanceType": "g99.xlarge"}, "InvalidParameterValue"),
                        ({"ImageId": "ami-12345678"}, "InvalidAMIID.NotFound"),
                        ({"ImageId": image(ec2, "arm64")}, "InvalidParameterValue"),
                        ({"UserData": "x" * 16385}, "InvalidParameterValue"),
                        ({"SubnetId": "subnet-1"}, "InvalidSubnetID.NotFound"),
                        ({"IamInstanceProfile": {"Name": "no"}}, "InvalidParameterValue"),
                        ({"SecurityGroupIds": ["sg-1"]}, "InvalidGroup.NotFound"),
                        ({"DryRun": True}, "DryRunOperation"),
                        ({"LicenseSpecifications": [{"LicenseConfigurationArn": "a"}]},
                         "UnknownParameter")):
        assert code_of(run, ec2=ec2, **wrong) == code, (wrong, code_of(run, ec2=ec2, **wrong))
    assert code_of(ec2.describe_instances, InstanceIds=["i-0123456789abcdef0"]) == \
        "InvalidInstanceID.NotFound"
    cloud.control("config", {"ec2": {"default_vpc": False}})
    assert code_of(client(cloud, region="eu-west-9").describe_vpcs) == "AuthFailure"


def test_ec2_who_may(cloud):
    good = client(cloud)
    assert code_of(client(cloud, secret="wrong").describe_vpcs) == "AuthFailure"
    assert code_of(client(cloud, id="AKIAUNKNOWN").describe_vpcs) == "AuthFailure"
    cloud.control("keys", {"cloud": "aws", "id": "AKIADENIED", "secret": "s",
                           "deny": ["ec2:RunInstances"]})
    held = client(cloud, id="AKIADENIED", secret="s")
    assert code_of(run, ec2=held) == "UnauthorizedOperation"
    cloud.control("keys", {"cloud": "aws", "id": "ASIAOLD", "secret": "s", "token": "t",
                           "expires": 1})
    old = client(cloud, id="ASIAOLD", secret="s", token="t")
    assert code_of(old.describe_vpcs) == "RequestExpired"
    cloud.fault("throttle", service="ec2", code="RequestLimitExceeded", at_once=0)
    assert code_of(good.describe_vpcs) == "RequestLimitExceeded"
    assert not cloud.control("machines")["machines"]


def test_ec2_describes(cloud):
    ec2 = client(cloud)
    types = ec2.describe_instance_types(InstanceTypes=["p5.48xlarge", "g5.xlarge"])
    found = {t["InstanceType"]: t for t in types["InstanceTypes"]}
    assert found["p5.48xlarge"]["GpuInfo"]["Gpus"][0]["Count"] == 8
    assert found["p5.48xlarge"]["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"] == 32
    assert found["g5.xlarge"]["VCpuInfo"]["DefaultVCpus"] == 4
    pages, token = [], {}
    while True:
        told = ec2.describe_instance_types(MaxResults=5, **token)
        pages += told["InstanceTypes"]
        if "NextToken" not in told:
            break
        token = {"NextToken": told["NextToken"]}
    assert len(pages) == len({t["InstanceType"] for t in pages}) == len(TYPES)
    where = ec2.describe_instance_type_offerings(
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": ["p5.48xlarge"]}])
    assert len(where["InstanceTypeOfferings"]) == 3
    prices = ec2.describe_spot_price_history(
        InstanceTypes=["g5.xlarge"], ProductDescriptions=["Linux/UNIX"],
        StartTime="2026-01-01T00:00:00Z")["SpotPriceHistory"]
    assert [p["SpotPrice"] for p in prices] == ["0.301800", "0.311860", "0.321920"]
    vpc = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]
    subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc["VpcId"]]}])
    assert [s["AvailabilityZoneId"] for s in subnets["Subnets"]] == [
        "use1-az1", "use1-az2", "use1-az3"]
    assert len(ec2.describe_availability_zones()["AvailabilityZones"]) == 3
    assert len(ec2.describe_regions()["Regions"]) == 4


def test_ec2_groups(cloud):
    ec2 = client(cloud)
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    make = {"GroupName": "g", "Description": "for a job", "VpcId": vpc}
    group = ec2.create_security_group(**make)["GroupId"]
    assert code_of(ec2.create_security_group, **make) == "InvalidGroup.Duplicate"
    door = {"GroupId": group, "IpPermissions": [
        {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22,
         "IpRanges": [{"CidrIp": "192.0.2.1/32", "Description": "ssh"}]},
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]}
    ec2.authorize_security_group_ingress(**door)
    assert code_of(ec2.authorize_security_group_ingress, **door) == \
        "InvalidPermission.Duplicate"
    told = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
    assert told["IpPermissions"][0]["IpRanges"][0]["CidrIp"] == "192.0.2.1/32"
    made = run(ec2, SecurityGroupIds=[group])[0]["InstanceId"]
    assert code_of(ec2.delete_security_group, GroupId=group) == "DependencyViolation"
    ec2.terminate_instances(InstanceIds=[made])
    wait_for(lambda: state(ec2, made)[0] == "terminated")
    ec2.delete_security_group(GroupId=group)
    assert code_of(ec2.delete_security_group, GroupId=group) == "InvalidGroup.NotFound"


def test_ec2_efa(cloud):
    ec2 = client(cloud)
    subnet = ec2.describe_subnets(Filters=[{"Name": "availability-zone",
                                            "Values": ["us-east-1a"]}])["Subnets"][0]
    group = ec2.create_security_group(GroupName="efa", Description="for a job",
                                      VpcId=subnet["VpcId"])["GroupId"]
    own = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    cards = [{"NetworkCardIndex": i, "DeviceIndex": min(i, 1), "SubnetId": subnet["SubnetId"],
              "Groups": [group], "InterfaceType": "efa-only" if i else "efa"}
             for i in range(4)]
    ec2.create_placement_group(GroupName="near", Strategy="cluster")
    wanted = {"InstanceType": "p4d.24xlarge", "NetworkInterfaces": cards,
              "Placement": {"GroupName": "near", "AvailabilityZone": "us-east-1a"}}
    assert code_of(run, ec2=ec2, **wanted) == "InvalidParameterCombination"
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=own)
    assert code_of(run, ec2=ec2, **wanted) == "InvalidParameterCombination"
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=own)
    assert code_of(ec2.authorize_security_group_egress, GroupId=group,
                   IpPermissions=own) == "InvalidPermission.Duplicate"
    made = run(ec2, **wanted)[0]["InstanceId"]
    assert code_of(ec2.delete_placement_group, GroupName="near") == \
        "InvalidPlacementGroup.InUse"
    cards[0]["AssociatePublicIpAddress"] = True
    assert code_of(run, ec2=ec2, **wanted) == "InvalidParameterCombination"
    ec2.terminate_instances(InstanceIds=[made])
    wait_for(lambda: state(ec2, made)[0] == "terminated")
    assert sorted(cloud.control("machines")["groups"]) == sorted(["near", group])
    ec2.delete_placement_group(GroupName="near")
    ec2.delete_security_group(GroupId=group)
    assert cloud.control("machines")["groups"] == []


def test_ec2_endpoints_and_images(cloud):
    old = {"name": "old", "id": "ami-0123456789abcdef0", "arch": "x86_64",
           "root": "/dev/sda1", "owner": "1", "gb": 8, "deprecated": "2026-01-01T00:00:00.000Z"}
    cloud.control("config", {"ec2": {
        "images": [old], "dies": {"us-east-1a/*": "Server.InternalError"},
        "endpoints": [{"id": "vpce-1", "region": "us-east-1", "vpc": "vpc-1",
                       "service": "com.amazonaws.us-east-1.s3"}]}})
    ec2 = client(cloud)
    for vpc, found in (("vpc-1", 1), ("vpc-2", 0)):
        told = ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [vpc]}])
        assert len(told["VpcEndpoints"]) == found
    assert not ec2.describe_images(ImageIds=[old["id"]])["Images"]
    told = ec2.describe_images(ImageIds=[old["id"]], IncludeDeprecated=True)["Images"]
    assert told[0]["DeprecationTime"] == old["deprecated"]
    made = ec2.run_instances(**dict(DEFAULTS, ImageId=old["id"], Placement={
        "AvailabilityZone": "us-east-1a"}))["Instances"][0]["InstanceId"]
    wait_for(lambda: state(ec2, made) == ("terminated", "Server.InternalError"))


def test_ec2_list_delay(cloud):
    ec2 = client(cloud)
    cloud.set(ec2_list_delay=1)
    made = run(ec2)[0]["InstanceId"]
    assert code_of(ec2.describe_instances, InstanceIds=[made]) == "InvalidInstanceID.NotFound"
    assert not ec2.describe_instances()["Reservations"]
    wait_for(lambda: ec2.describe_instances()["Reservations"])


def test_ec2_images_and_quotas(cloud):
    ssm = client(cloud, "ssm")
    name = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
    assert ssm.get_parameter(Name=name)["Parameter"]["Value"] == image(client(cloud))
    assert code_of(ssm.get_parameter, Name="/no") == "ParameterNotFound"
    assert code_of(client(cloud, "ssm", secret="x").get_parameter, Name=name) == \
        "SignatureDoesNotMatch"
    quotas = client(cloud, "service-quotas")
    cloud.control("config", {"ec2": {"quotas": {"us-east-1/L-417A185B": 0}}})
    assert quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-417A185B")["Quota"][
        "Value"] == 0
    assert code_of(quotas.get_service_quota, ServiceCode="ec2", QuotaCode="L-0") == \
        "NoSuchResourceException"


DATA = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=="

--==
Content-Type: text/cloud-boothook

#cloud-boothook
#!/bin/sh
echo "hook $INSTANCE_ID"
( trap '' HUP; sleep 600 ) >/dev/null 2>&1 &

--==
Content-Type: text/x-shellscript

#!/bin/sh
echo script
I=$AWS_EC2_METADATA_SERVICE_ENDPOINT/latest
T=$(curl -sf -X PUT -H 'x-aws-ec2-metadata-token-ttl-seconds: 60' $I/api/token)
M="curl -sf -H x-aws-ec2-metadata-token:$T $I/meta-data"
echo "role $($M/iam/security-credentials/) id $($M/instance-id)"
touch /root/was-here
while ! $M/spot/instance-action; do sleep 0.1; done
exec python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
--==--
"""


def boots(cloud):
    if not boot.possible():
        raise Skip("machines cannot be booted here")
    cloud.set(ec2_boot=True)


def console(cloud, ident):
    return cloud.control("console?id=" + ident)["text"]


def test_ec2_boots_user_data(cloud):
    boots(cloud)
    ec2 = client(cloud)
    made = run(ec2, UserData=DATA, InstanceInitiatedShutdownBehavior="terminate",
               IamInstanceProfile={"Name": "gpucloud-node"},
               InstanceMarketOptions={"MarketType": "spot"},
               MetadataOptions={"HttpTokens": "required"})[0]["InstanceId"]
    wait_for(lambda: "role gpucloud-node id " + made in console(cloud, made))
    text = console(cloud, made)
    assert text.index("hook " + made) < text.index("script\n")
    told = ec2.get_console_output(InstanceId=made, Latest=True)["Output"]
    assert "role gpucloud-node" in told, told
    cloud.control("machines", {"id": made, "do": "reboot"})
    wait_for(lambda: console(cloud, made).count("hook") == 2)
    assert console(cloud, made).count("script\n") == 1  # once in its life
    cloud.control("machines", {"id": made, "do": "kill"})
    wait_for(lambda: state(ec2, made) == ("terminated", "Server.InternalError"))


def test_ec2_power_off_terminates(cloud):
    boots(cloud)
    ec2 = client(cloud)
    made = run(ec2, UserData=DATA, InstanceInitiatedShutdownBehavior="terminate",
               IamInstanceProfile={"Name": "gpucloud-node"})[0]["InstanceId"]
    wait_for(lambda: "role" in console(cloud, made))
    cloud.control("machines", {"id": made, "do": "notice", "seconds": 100})
    wait_for(lambda: state(ec2, made) == ("terminated", "Client.InstanceInitiatedShutdown"))
    import os
    assert not os.path.exists("/root/was-here")


def test_ec2_ways_to_a_machine(cloud):
    """Closed, open to others, open to us, closed with its machine."""
    ec2, listener = client(cloud), socket.socket()
    cloud.control("config", {"ec2": {"nets": ["127.101", "127.102"]}})
    made = run(ec2)[0]
    ident = made["InstanceId"]
    card = made["NetworkInterfaces"][0]
    assert card["Attachment"]["DeviceIndex"] == 0
    before = [g["GroupId"] for g in card["Groups"]]
    assert before == [g["GroupId"] for g in made["SecurityGroups"]] and len(before) == 1
    wait_for(lambda: state(ec2, ident)[0] == "running")
    public = ec2.describe_instances(InstanceIds=[ident])["Reservations"][0]["Instances"][0][
        "PublicIpAddress"]
    listener.bind((made["PrivateIpAddress"], 0))
    listener.listen()
    port = listener.getsockname()[1]
    group = ec2.create_security_group(
        GroupName="of a job", Description="x", VpcId=made["VpcId"], TagSpecifications=[
            {"ResourceType": "security-group",
             "Tags": [{"Key": "gpucloud-job", "Value": "j"}]}])["GroupId"]

    def let_in(cidr):
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[
            {"IpProtocol": "tcp", "FromPort": port, "ToPort": port,
             "IpRanges": [{"CidrIp": cidr}]}])

    def reached():
        try:
            with socket.create_connection((public, port), timeout=5) as one:
                host = listener.accept()[0]
                one.sendall(b"x")
                assert host.recv(1) == b"x"
                host.close()
                return True
        except OSError:
            return False

    listener.settimeout(1)
    assert not reached()
    let_in("192.0.2.0/24")
    ec2.modify_network_interface_attribute(NetworkInterfaceId=card["NetworkInterfaceId"],
                                           Groups=before + [group])
    assert not reached()
    told = urllib.request.urlopen(cloud.http["checkip"] + "/").read().decode()
    assert told == "127.0.0.1\n", told
    let_in(told.strip() + "/32")
    assert reached()
    assert code_of(let_in, cidr="127.0.0.1/32") == "InvalidPermission.Duplicate"
    assert code_of(ec2.delete_security_group, GroupId=group) == "DependencyViolation"
    ec2.terminate_instances(InstanceIds=[ident])
    wait_for(lambda: state(ec2, ident)[0] == "terminated")
    assert not reached()
    ec2.delete_security_group(GroupId=group)
    assert not ec2.describe_security_groups(Filters=[
        {"Name": "tag:gpucloud-job", "Values": ["j"]}])["SecurityGroups"]
    listener.close()


def test_ec2_group_that_keeps_a_machine(cloud):
    ec2, scaling = client(cloud), client(cloud, "autoscaling")
    made = ec2.create_launch_template(
        LaunchTemplateName="tpl", ClientToken="one", LaunchTemplateData={
            "ImageId": image(ec2), "InstanceType": "g5.xlarge", "UserData": "eA==",
            "InstanceMarketOptions": {"MarketType": "spot"},
            "TagSpecifications": [{"ResourceType": "instance",
                                   "Tags": [{"Key": "job", "Value": "a"}]}]},
        TagSpecifications=[{"ResourceType": "launch-template",
                            "Tags": [{"Key": "job", "Value": "a"}]}])["LaunchTemplate"]
    name = {"AutoScalingGroupName": "g"}
    create = dict(name, MinSize=0, MaxSize=1, DesiredCapacity=0,
                  AvailabilityZones=["us-east-1b"], Tags=[{"Key": "job", "Value": "a"}],
                  LaunchTemplate={"LaunchTemplateId": made["LaunchTemplateId"]})
    scaling.create_auto_scaling_group(**create)
    assert code_of(scaling.create_auto_scaling_group, **create) == "AlreadyExists"
    assert code_of(scaling.set_desired_capacity, DesiredCapacity=2, **name) == "ValidationError"
    end = {"ScheduledActionName": "end", "MinSize": 0, "MaxSize": 0, "DesiredCapacity": 0}
    assert code_of(scaling.put_scheduled_update_group_action, StartTime="2020-01-01T00:00:00Z",
                   **name, **end) == "ValidationError"
    scaling.put_scheduled_update_group_action(StartTime="2099-01-01T00:00:00Z", **name, **end)
    told = scaling.describe_scheduled_actions(**name)["ScheduledUpdateGroupActions"]
    assert [(a["DesiredCapacity"], a["StartTime"].year) for a in told] == [(0, 2099)]

    def group():
        found = scaling.describe_auto_scaling_groups(
            Filters=[{"Name": "tag:job", "Values": ["a"]}])["AutoScalingGroups"]
        return found[0] if found else None

    def machine(not_this=None):
        return next((i["InstanceId"] for i in group()["Instances"] if i["LifecycleState"] ==
                     "InService" and i["InstanceId"] != not_this), None)
    assert machine() is None
    scaling.set_desired_capacity(DesiredCapacity=1, **name)
    wait_for(machine)
    first = machine()
    wait_for(lambda: state(ec2, first)[0] == "running")
    found = ec2.describe_instances(InstanceIds=[first])["Reservations"][0]["Instances"][0]
    assert {"Key": "aws:autoscaling:groupName", "Value": "g"} in found["Tags"]
    assert found["InstanceLifecycle"] == "spot" and len(found["Tags"]) == 2
    ec2.terminate_instances(InstanceIds=[first])
    wait_for(lambda: machine(first))
    second = machine(first)
    assert code_of(scaling.delete_auto_scaling_group, **name) == "ResourceInUse"
    # the end of its time: the action sets it to 0
    wait_for(lambda: state(ec2, second)[0] == "running")
    cloud.set(clock_offset=0)
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    scaling.put_scheduled_update_group_action(StartTime=soon, **name, **end)
    wait_for(lambda: state(ec2, second)[0] == "terminated")
    assert group()["MaxSize"] == 0 and machine() is None
    scaling.update_auto_scaling_group(MaxSize=1, DesiredCapacity=1, **name)
    wait_for(machine)
    scaling.delete_auto_scaling_group(ForceDelete=True, **name)
    wait_for(lambda: group() is None)
    assert len(ec2.describe_launch_templates()["LaunchTemplates"]) == 1
    ec2.delete_launch_template(LaunchTemplateId=made["LaunchTemplateId"])
    assert code_of(ec2.delete_launch_template, LaunchTemplateName="tpl") == \
        "InvalidLaunchTemplateName.NotFoundException"
    wait_for(lambda: all(m["state"] == "terminated"
                         for m in cloud.control("machines")["machines"]))


def test_ec2_group_without_capacity(cloud):
    ec2, scaling = client(cloud), client(cloud, "autoscaling")
    cloud.control("config", {"ec2": {"capacity": {"us-east-1b/*": 0}}})
    ec2.create_launch_template(LaunchTemplateName="tpl", LaunchTemplateData={
        "ImageId": image(ec2), "InstanceType": "g5.xlarge"})
    name = {"AutoScalingGroupName": "g"}
    scaling.create_auto_scaling_group(
        MinSize=0, MaxSize=2, DesiredCapacity=1, AvailabilityZones=["us-east-1b"],
        LaunchTemplate={"LaunchTemplateName": "tpl", "Version": "1"}, **name)

    def newest():
        return (scaling.describe_scaling_activities(MaxRecords=1, **name)["Activities"]
                or [{"StatusCode": ""}])[0]
    wait_for(lambda: newest()["StatusCode"] == "Failed")
    assert "InsufficientInstanceCapacity" in newest()["StatusMessage"]
    cloud.control("config", {"ec2": {"capacity": {}}})
    wait_for(lambda: newest()["StatusCode"] == "Successful")
    cloud.control("groups", {"size": 2})
    wait_for(lambda: len(cloud.control("groups")["groups"][0]["machines"]) == 2)
    two = cloud.control("groups")["groups"][0]["machines"]
    scaling.terminate_instance_in_auto_scaling_group(
        InstanceId=two[1], ShouldDecrementDesiredCapacity=True)
    wait_for(lambda: cloud.control("groups")["groups"][0]["machines"] == two[:1])
    assert cloud.control("groups")["groups"][0]["sizes"] == [0, 1, 2]
    assert code_of(client(cloud, "autoscaling", secret="wrong").describe_auto_scaling_groups) \
        == "SignatureDoesNotMatch"
