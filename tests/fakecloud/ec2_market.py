"""EC2: what can be had, and at what price."""
import time

from .ec2_account import fits
from .ec2_pages import Filters, page
from .ec2_types import TYPES
from .http1 import Failure
from .sigv4 import iso
from .xmltext import element


def with_next(found, more):
    return found + ([("nextToken", more)] if more else [])


class Market:
    def offered(self, zone, kind):
        return not any(fits(p, "%s/%s" % (zone, kind))
                       for p in self.book.config["not_offered"])

    def do_describe_instance_types(self, request, p, dry):
        names = p.texts("InstanceType")
        filters = Filters(p, ("instance-type", "supported-usage-class",
                              "network-info.efa-supported",
                              "processor-info.supported-architecture"))
        for name in names:
            if name not in TYPES:
                raise Failure(400, "InvalidInstanceType", "The following supplied instance "
                              "types do not exist: [%s]" % name)
        zones = self.book.region(request.bucket).zones
        found = [t for t in TYPES.values() if (not names or t.name in names) and
                 any(self.offered(z, t.name) for z in zones) and filters.pass_(
                     lambda f, t=t: {"instance-type": [t.name],
                                     "supported-usage-class": ["on-demand", "spot"],
                                     "network-info.efa-supported":
                                     ["true" if t.efa else "false"],
                                     "processor-info.supported-architecture": [t.arch]}[f])]
        found, more = page(p, found, 5, 100, bool(names))
        self.done(p, dry)
        return with_next([element("instanceTypeSet", *[t.xml() for t in found])], more)

    def do_describe_instance_type_offerings(self, request, p, dry):
        where = p.text("LocationType", "region")
        filters = Filters(p, ("instance-type", "location"))
        region = self.book.region(request.bucket)
        if where == "region":
            found = [(t, region.name) for t in TYPES
                     if any(self.offered(z, t) for z in region.zones)]
        elif where == "availability-zone":
            found = [(t, z) for t in TYPES for z in region.zones if self.offered(z, t)]
        else:
            raise Failure(400, "InvalidParameterValue", "fakecloud has no such LocationType")
        found = [f for f in found if filters.pass_(
            lambda n, f=f: {"instance-type": [f[0]], "location": [f[1]]}[n])]
        found, more = page(p, found)
        self.done(p, dry)
        return with_next([element("instanceTypeOfferingSet", *[element(
            "item", ("instanceType", t), ("locationType", where), ("location", z))
            for t, z in found])], more)

    def do_describe_spot_price_history(self, request, p, dry):
        """The price now in each zone, since it never changed."""
        names, products = p.texts("InstanceType"), p.texts("ProductDescription")
        p.text("StartTime"), p.text("EndTime")
        zone = p.text("AvailabilityZone")
        filters = Filters(p, ("availability-zone", "instance-type", "product-description"))
        region = self.book.region(request.bucket)
        found = []
        if not products or "Linux/UNIX" in products:
            found = [(t, z) for t in TYPES.values() for z in region.zones
                     if (not names or t.name in names) and zone in (None, z) and
                     self.offered(z, t.name)]
        found = [f for f in found if filters.pass_(lambda n, f=f: {
            "availability-zone": [f[1]], "instance-type": [f[0].name],
            "product-description": ["Linux/UNIX"]}[n])]
        found, more = page(p, found, 1)
        self.done(p, dry)
        return with_next([element("spotPriceHistorySet", *[element(
            "item", ("instanceType", t.name), ("productDescription", "Linux/UNIX"),
            ("spotPrice", "%.6f" % (t.spot_micros(z) / 1e6)), ("timestamp", iso(
                time.time() - 3600)), ("availabilityZone", z)) for t, z in found])], more)

    def do_describe_images(self, request, p, dry):
        ids, owners = p.texts("ImageId"), p.texts("Owner")
        deprecated_too = p.flag("IncludeDeprecated")
        filters = Filters(p, ("name", "state", "architecture", "image-id", "root-device-type"))
        images = self.book.region(request.bucket).images
        for ident in ids:
            if ident not in images:
                raise Failure(400, "InvalidAMIID.NotFound", "The image id '[%s]' does not "
                              "exist" % ident)
        found = [i for i in images.values() if (not ids or i.id in ids) and
                 not i.private and (deprecated_too or not i.deprecated) and
                 (not owners or i.owner in owners or "amazon" in owners) and filters.pass_(
                     lambda f, i=i: {"name": [i.name], "state": [i.state],
                                     "architecture": [i.arch], "image-id": [i.id],
                                     "root-device-type": ["ebs"]}[f])]
        found, more = page(p, found, 1, 1000, bool(ids))
        self.done(p, dry)
        return with_next([element("imagesSet", *[element(
            "item", ("imageId", i.id), ("imageState", i.state), ("imageOwnerId", i.owner),
            ("isPublic", "true"), ("architecture", i.arch), ("imageType", "machine"),
            ("name", i.name), ("rootDeviceType", "ebs"), ("rootDeviceName", i.root),
            element("blockDeviceMapping", element(
                "item", ("deviceName", i.root), element(
                    "ebs", ("snapshotId", "snap-0fake"), ("volumeSize", i.gb),
                    ("deleteOnTermination", "true"), ("volumeType", "gp3"),
                    ("encrypted", "false")))),
            ("creationDate", "2026-11-01T00:00:00.000Z"),
            *([("deprecationTime", i.deprecated)] if i.deprecated else []),
            *([("platform", i.platform)] if i.platform else [])) for i in found])], more)

    def do_describe_capacity_reservations(self, request, p, dry):
        ids, filters = p.texts("CapacityReservationId"), Filters(p, ("state", "instance-type"))
        known = {r["id"]: r for r in self.book.config["reservations"]
                 if r["zone"].startswith(request.bucket)}
        for ident in ids:
            if ident not in known:
                raise Failure(400, "InvalidCapacityReservationId.NotFound", "The capacity "
                              "reservation '%s' does not exist" % ident)
        found = [r for r in known.values() if (not ids or r["id"] in ids) and filters.pass_(
            lambda f, r=r: {"state": [r.get("state", "active")],
                            "instance-type": [r["type"]]}[f])]
        found, more = page(p, found, 1)
        self.done(p, dry)
        used = [m.asked.reservation for m in self.book.counted()]
        return with_next([element("capacityReservationSet", *[element(
            "item", ("capacityReservationId", r["id"]), ("instanceType", r["type"]),
            ("instancePlatform", "Linux/UNIX"), ("availabilityZone", r["zone"]),
            ("tenancy", "default"), ("totalInstanceCount", r["count"]),
            ("availableInstanceCount", r["count"] - used.count(r["id"])),
            ("state", r.get("state", "active")),
            ("reservationType", "capacity-block" if r.get("market") == "capacity-block" else
             "default"), ("endDate", r.get("end"))) for r in found])], more)
