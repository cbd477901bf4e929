"""What botocore's own descriptions say of a request: each parameter's spelling and form.

The stand-in's services were written from the same fact sheets as what they check; these
descriptions come from AWS. Where botocore is missing, or is older than an operation,
nothing is checked.
"""
import base64
import binascii
import functools
import re

from .http1 import Failure

try:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel
except ImportError:
    Loader = None

FOLDERS = {"auto_scaling": "autoscaling", "monitoring": "cloudwatch", "servicequotas": "service-quotas"}
FORMS = {"integer": r"-?\d+", "long": r"-?\d+", "boolean": "true|false",
         "double": r"-?\d+(\.\d+)?([eE][-+]?\d+)?", "float": r"-?\d+(\.\d+)?([eE][-+]?\d+)?",
         "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"}
ALWAYS = {"Action", "Version"}


@functools.lru_cache(None)
def service(name, version):
    if Loader is None:
        return None
    folder = FOLDERS.get(name, name)
    try:
        model = Loader().load_service_model(folder, "service-2", version or None)
    except Exception:  # of botocore's many kinds: it has no such description
        return None
    return ServiceModel(model, folder)


def operation(name, version, called):
    found = service(name, version)
    if found is None or called not in found.operation_names:
        return None
    return found.operation_model(called).input_shape


def check_form(name, version, called, args):
    """The parameters of a query protocol, by their names on the wire."""
    shape = operation(name, version, called)
    if shape is None:
        return
    ec2 = service(name, version).metadata["protocol"] == "ec2"
    for path, value in args.items():
        if path not in ALWAYS:
            leaf = find(shape, path.split("."), ec2)
            if leaf is None:
                raise Failure(400, "UnknownParameter", "The parameter %s is not recognized"
                              % path)
            check_value(leaf, path, value)
    for member in shape.required_members:
        wire = spelled(member, shape.members[member], ec2)
        if not any(p == wire or p.startswith(wire + ".") for p in args):
            raise Failure(400, "MissingParameter", "The request must contain the parameter "
                          + wire)


def spelled(name, shape, ec2):
    """How a structure's member stands in a form."""
    told = shape.serialization
    if ec2 and "queryName" in told:
        return told["queryName"]
    wire = told.get("name", name)
    return wire[:1].upper() + wire[1:] if ec2 else wire


def find(shape, words, ec2):
    """The shape at the end of a path; None where there is no such thing."""
    if not words:
        return None if shape.type_name in ("structure", "list", "map") else shape
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            if spelled(name, member, ec2) == words[0]:
                return find(member, words[1:], ec2)
    if shape.type_name == "list":
        if not ec2 and not shape.serialization.get("flattened"):
            if words[0] != shape.member.serialization.get("name", "member"):
                return None
            words = words[1:]
        if words and re.fullmatch(r"[1-9]\d*", words[0]):
            return find(shape.member, words[1:], ec2)
    return None


def check_value(shape, path, value):
    if shape.type_name == "blob":
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error:
            raise Failure(400, "InvalidParameterValue", path + " is no base64") from None
    if not re.fullmatch(FORMS.get(shape.type_name, r"[\s\S]*"), value):
        raise Failure(400, "InvalidParameterValue", "Value (%s) for parameter %s is invalid. "
                      "It is a %s." % (value, path, shape.type_name))


def check_document(name, version, called, value):
    """The same for what is sent as JSON."""
    shape = operation(name, version, called)
    if shape is not None:
        check_tree(shape, value, called)


def check_tree(shape, value, where):
    kinds = {"structure": dict, "map": dict, "list": list, "string": str, "boolean": bool,
             "integer": int, "long": int, "double": (int, float), "float": (int, float)}
    if not isinstance(value, kinds.get(shape.type_name, object)):
        raise Failure(400, "SerializationException", where + " is no " + shape.type_name)
    if shape.type_name == "list":
        for item in value:
            check_tree(shape.member, item, where)
    if shape.type_name != "structure":
        return
    for name, item in value.items():
        if name not in shape.members:
            raise Failure(400, "ValidationException", "%s has no %s" % (where, name))
        check_tree(shape.members[name], item, where + "." + name)
    for name in shape.required_members:
        if name not in value:
            raise Failure(400, "ValidationException", "%s lacks %s" % (where, name))
