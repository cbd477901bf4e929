"""Amazon CloudWatch: takes figures, and remembers them for the control channel."""
import datetime
import math
import re
import time

from .http1 import Failure
from .query import Query

MOST = 1000  # data in a call
PAST, FUTURE = 14 * 86400, 2 * 3600
LIMIT = 2.0 ** 360
SPACE = re.compile(r"[0-9A-Za-z.\-_/#:\s]{1,255}")
UNITS = ("Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits "
         "Kilobits Megabits Gigabits Terabits Percent Count Bytes/Second Count/Second "
         "None").split()
STATISTICS = ("SampleCount", "Sum", "Minimum", "Maximum")


class CloudWatch(Query):
    name = "cloudwatch"
    signs = "monitoring"
    acts = "cloudwatch"
    version = "2010-08-01"
    xmlns = "http://monitoring.amazonaws.com/doc/2010-08-01/"
    hosts = (r"monitoring\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",)
    region_of_host = re.compile(
        r"monitoring\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")

    def needs(self, request):
        found = super().needs(request)
        space = request.parameters.get("Namespace")
        found.add("cloudwatch:" + request.operation, "*", cloudwatch__namespace=space)
        return found

    def do_put_metric_data(self, request, args):
        space = args.get("Namespace", "")
        if not SPACE.fullmatch(space) or space.startswith((":", "AWS/")):
            raise wrong("The value %s for parameter Namespace is invalid." % space)
        data = list(groups(args, "MetricData.member"))
        if not data:
            raise Failure(400, "MissingParameter", "The parameter MetricData is required.")
        if len(data) > MOST:
            raise wrong("The collection MetricData must not have a size greater than 1000.")
        self.world.figures += [dict(self.datum(d), region=request.bucket, space=space)
                               for d in data]
        return []

    def datum(self, args):
        """One of them; what is wrong with any refuses the whole call."""
        name = args.get("MetricName", "")
        if not 1 <= len(name) <= 255 or not name.isascii() or not name.isprintable() or \
                name.startswith(":"):
            raise wrong("The value %s for parameter MetricName is invalid." % name)
        unit = args.get("Unit", "None")
        if unit not in UNITS:
            raise wrong("The value %s for parameter Unit is invalid." % unit)
        dimensions = {d.get("Name", ""): d.get("Value", "")
                      for d in groups(args, "Dimensions.member")}
        if len(dimensions) > 30 or not all(n and v for n, v in dimensions.items()):
            raise wrong("Dimensions are invalid.")
        found = {"name": name, "unit": unit, "dimensions": dimensions}
        if "Timestamp" in args:
            check_stamp(args["Timestamp"])
        if "Value" in args:
            return dict(found, value=number(args["Value"]))
        found.update((n.lower(), number(args.get("StatisticValues." + n, "")))
                     for n in STATISTICS)
        if found["samplecount"] <= 0 or found["minimum"] > found["maximum"]:
            raise wrong("StatisticValues are invalid.")
        return found


def check_stamp(stamp):
    when = datetime.datetime.strptime(stamp.partition(".")[0].rstrip("Z"), "%Y-%m-%dT%H:%M:%S")
    age = time.time() - when.replace(tzinfo=datetime.timezone.utc).timestamp()
    if not -FUTURE <= age <= PAST:
        raise wrong("The value %s for parameter Timestamp is invalid." % stamp)


def groups(args, start):
    """The members of a list, in order, each as a form of its own."""
    found = {}
    for name, value in args.items():
        match = re.fullmatch(re.escape(start) + r"\.([1-9]\d{0,5})\.(.+)", name)
        if match:
            found.setdefault(int(match.group(1)), {})[match.group(2)] = value
    return [found[n] for n in sorted(found)]


def number(text):
    try:
        value = float(text)
    except ValueError:
        raise wrong("The value %s is no number." % text) from None
    if not math.isfinite(value) or abs(value) > LIMIT or 0 < abs(value) < 1 / LIMIT:
        raise wrong("The value %s is out of range." % text)
    return value


def wrong(text):
    return Failure(400, "InvalidParameterValue", text)
