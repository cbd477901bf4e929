"""EC2: launch templates, what a group's machines are made of."""
import secrets
import time

from .ec2_pages import Filters, page, tag_set, tags_of
from .ec2_run import Asked, read_tags
from .http1 import Failure
from .query import Parameters
from .sigv4 import iso
from .xmltext import element

DATA = "LaunchTemplateData."


class Template:
    def __init__(self, name, data, tags, token):
        self.id = "lt-0" + secrets.token_hex(8)
        self.name, self.data, self.tags, self.token = name, data, tags, token
        self.created = time.time()

    def ask(self, book, region, zone):
        """One machine of it, as RunInstances would be asked for it."""
        args = dict(self.data, MinCount="1", MaxCount="1")
        args["Placement.AvailabilityZone"] = zone
        p = Parameters(args)
        asked = Asked(book, region, p)
        left = p.unread()
        if left:
            raise Failure(400, "UnknownParameter", "The parameter %s is not recognized"
                          % left[0])
        return asked


class Templates:
    def do_create_launch_template(self, request, p, dry):
        name, token = p.need("LaunchTemplateName"), p.text("ClientToken")
        p.text("VersionDescription")
        tags = {}
        for spec in p.groups("TagSpecification"):
            if spec.need("ResourceType") != "launch-template":
                raise Failure(400, "InvalidParameterValue", "'%s' is not a valid taggable "
                              "resource type for this operation." % spec.text("ResourceType"))
            tags.update(read_tags(spec))
        data = {n[len(DATA):]: v for n, v in p.args.items() if n.startswith(DATA)}
        p.seen.update(DATA + n for n in data)
        for word in ("MinCount", "MaxCount", "ClientToken"):
            if word in data:
                raise Failure(400, "UnknownParameter", "The parameter %s is not recognized"
                              % word)
        if not data:
            p.need(DATA + "ImageId")
        self.done(p, dry)
        made = self.make_template(request.bucket, Template(name, data, tags, token))
        return [template("launchTemplate", made)]

    def make_template(self, region, made):
        held = self.book.region(region)
        try:  # what can be told at once: names that do not exist
            made.ask(self.book, region, held.zones[0])
        except Failure as failed:
            if failed.code == "UnknownParameter":
                raise
        with self.book.lock:
            for old in held.templates.values():
                if made.token and old.token == made.token:
                    if (old.name, old.data, old.tags) != (made.name, made.data, made.tags):
                        raise Failure(400, "IdempotentParameterMismatch", "Arguments on this "
                                      "idempotent request are inconsistent")
                    return old
                if old.name == made.name:
                    raise Failure(400, "InvalidLaunchTemplateName.AlreadyExistsException",
                                  "Launch template name already in use.")
            held.templates[made.id] = made
        return made

    def do_describe_launch_templates(self, request, p, dry):
        held = self.book.region(request.bucket).templates
        ids, names = p.texts("LaunchTemplateId"), p.texts("LaunchTemplateName")
        filters = Filters(p, ("launch-template-name", "tag:", "tag-key"))
        for ident in ids:
            if ident not in held:
                raise unknown_id(ident)
        for name in names:
            if not any(t.name == name for t in held.values()):
                raise unknown_name()
        found = [t for t in held.values() if (not ids or t.id in ids) and
                 (not names or t.name in names) and
                 filters.pass_(lambda n, t=t: tags_of(n, t.tags) if tags_of(n, t.tags)
                               is not None else [t.name])]
        found, more = page(p, found, low=1, high=200)
        self.done(p, dry)
        made = [element("launchTemplates", *[template("item", t) for t in found])]
        return made + ([("nextToken", more)] if more else [])

    def do_delete_launch_template(self, request, p, dry):
        held = self.book.region(request.bucket).templates
        ident, name = p.text("LaunchTemplateId"), p.text("LaunchTemplateName")
        self.done(p, dry)
        if ident and ident not in held:
            raise unknown_id(ident)
        found = [t for t in held.values() if ident in (None, t.id) and name in (None, t.name)]
        if not found or not (ident or name):
            raise unknown_name()
        del held[found[0].id]
        return [template("launchTemplate", found[0])]


def unknown_id(ident):
    return Failure(400, "InvalidLaunchTemplateId.NotFound", "The specified launch template, "
                   "with template ID %s, does not exist." % ident)


def unknown_name():
    return Failure(400, "InvalidLaunchTemplateName.NotFoundException", "At least one of the "
                   "launch templates specified in the request does not exist.")


def template(name, t):
    return element(name, ("launchTemplateId", t.id), ("launchTemplateName", t.name),
                   ("createTime", iso(t.created)), ("defaultVersionNumber", "1"),
                   ("latestVersionNumber", "1"), *tag_set(t.tags))
