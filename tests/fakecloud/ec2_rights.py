"""What a role needs for the calls of EC2, thing by thing."""
from .rights import Needs, partition


def of_launch(needs, asked, template=None):
    """RunInstances, by hand or by a group."""
    run = "RunInstances"
    market = {"ec2__InstanceMarketType": asked.market}
    needs.ec2(run, "instance/*", given=asked.tags.get("instance"),
              ec2__InstanceType=asked.type.name,
              ec2__MetadataHttpTokens="required" if asked.imds_v2_only else "optional",
              **market)
    made = ["volume", "network-interface"] + ["spot-instances-request"] * asked.spot
    for kind in made:
        needs.ec2(run, kind + "/*", given=asked.tags.get(kind))
    needs.add("ec2:" + run, needs.arn("ec2", "image/" + asked.image.id, account=""))
    needs.ec2(run, "subnet/" + asked.subnet.id, has=asked.subnet.tags)
    for group in asked.groups:
        needs.ec2(run, "security-group/" + group, has=asked.account.groups[group].tags)
    for kind, ident in (("placement-group", asked.group),
                        ("capacity-reservation", asked.reservation),
                        ("launch-template", template)):
        if ident:
            needs.ec2(run, "%s/%s" % (kind, ident))
    for kind, tags in asked.tags.items():
        needs.tagging(run, kind, tags)
    if asked.profile:
        role = needs.world.iam.role_of_profile(asked.profile) or asked.profile
        suffix = ".cn" if partition(needs.region) == "aws-cn" else ""
        needs.add("iam:PassRole", needs.arn("iam", "role/" + role, region=""),
                  iam__PassedToService="ec2.amazonaws.com" + suffix)


class Rights:
    """The part of the service that tells what a call needs."""

    def needs(self, request, asked=None):
        found = Needs(self.world, request.bucket)
        if asked is not None:
            of_launch(found, asked)
            return found
        work = getattr(self, "needs_" + request.operation, None)
        if work:
            work(found, request.operation, request.parameters,
                 self.book.region(request.bucket))
        else:
            found.add("ec2:" + request.operation, "*")
        return found

    # -- machines

    def of_machines(self, found, action, args, account):
        names = [v for n, v in args.items() if n.partition(".")[0] == "InstanceId"]
        for machine in filter(None, map(self.book.machines.get, names)):
            found.ec2(action, "instance/" + machine.id, has=machine.tags)

    needs_TerminateInstances = needs_StopInstances = needs_GetConsoleOutput = of_machines
    needs_ModifyInstanceAttribute = of_machines

    def needs_CreateTags(self, found, action, args, account):
        given = {v: args.get(n[:-len("Key")] + "Value", "")
                 for n, v in args.items() if n.startswith("Tag.") and n.endswith(".Key")}
        for name, value in args.items():
            if name.startswith("ResourceId."):
                found.ec2(action, "*/" + value, given=given)

    def needs_ModifyNetworkInterfaceAttribute(self, found, action, args, account):
        card = args.get("NetworkInterfaceId", "")
        for machine in self.book.machines.values():
            if machine.card == card:
                found.ec2(action, "instance/" + machine.id, has=machine.tags)
                found.ec2(action, "network-interface/" + card,
                          has=machine.asked.tags.get("network-interface"))
        for name, value in args.items():
            if name.startswith("SecurityGroupId."):
                self.add_group(found, action, value, account)

    # -- what stands beside them

    @staticmethod
    def add_group(found, action, ident, account):
        group = account.groups.get(ident)
        if group:  # else the call itself says that there is none
            found.ec2(action, "security-group/" + ident, has=group.tags)

    def of_group(self, found, action, args, account):
        self.add_group(found, action, args.get("GroupId", ""), account)

    needs_AuthorizeSecurityGroupIngress = needs_AuthorizeSecurityGroupEgress = of_group
    needs_RevokeSecurityGroupIngress = needs_DeleteSecurityGroup = of_group

    def needs_CreateSecurityGroup(self, found, action, args, account):
        given = given_tags(args)
        vpc = args.get("VpcId", "")
        found.ec2(action, "security-group/*", given=given)
        found.ec2(action, "vpc/" + vpc,
                  has=account.vpcs[vpc].tags if vpc in account.vpcs else {})
        found.tagging(action, "security-group", given)

    def needs_CreatePlacementGroup(self, found, action, args, account):
        given = given_tags(args)
        found.ec2(action, "placement-group/" + args.get("GroupName", ""), given=given)
        found.tagging(action, "placement-group", given)

    def needs_DeletePlacementGroup(self, found, action, args, account):
        name = args.get("GroupName", "")
        if name in self.book.groups:
            found.ec2(action, "placement-group/" + name, has=self.book.groups[name].get("tags"))

    def needs_CreateLaunchTemplate(self, found, action, args, account):
        given = given_tags(args)
        found.ec2(action, "launch-template/*", given=given)
        found.tagging(action, "launch-template", given)

    def needs_DeleteLaunchTemplate(self, found, action, args, account):
        for template in account.templates.values():
            if args.get("LaunchTemplateId", template.id) == template.id and \
                    args.get("LaunchTemplateName", template.name) == template.name:
                found.ec2(action, "launch-template/" + template.id, has=template.tags)


def given_tags(args):
    """Of the call's one TagSpecification."""
    start = "TagSpecification.1.Tag."
    return {v: args.get(n[:-len("Key")] + "Value", "")
            for n, v in args.items() if n.startswith(start) and n.endswith(".Key")}
