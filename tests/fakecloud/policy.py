"""What policy documents permit and forbid: version 2012-10-17 of IAM's language, as far as
stores and roles use it. Anything else in a document is refused when it is put."""
import ipaddress
import json
import re

from .http1 import Failure

VERSION = "2012-10-17"
ELEMENTS = {"Sid", "Effect", "Principal", "Action", "Resource", "Condition"}
LONGEST = 20480


def many(value):
    return value if isinstance(value, list) else [value]


def pattern(text):
    """* and ? are wildcards, ${*} ${?} ${$} are those characters themselves."""
    out = []
    for part in re.findall(r"\$\{[*?$]\}|.", text, re.DOTALL):
        out.append(".*" if part == "*" else "." if part == "?" else
                   re.escape(part[2]) if len(part) == 4 and part.startswith("${") else
                   re.escape(part))
    return re.compile("".join(out), re.DOTALL)


def like(patterns, text):
    return any(pattern(p).fullmatch(text) for p in many(patterns))


def in_block(blocks, text):
    return any(ipaddress.ip_address(text) in ipaddress.ip_network(b, strict=False)
               for b in many(blocks))


def equal(values, text):
    return text in [str(v).lower() if isinstance(v, bool) else v for v in many(values)]


TESTS = {"StringEquals": equal, "StringLike": like, "ArnEquals": like, "ArnLike": like,
         "Bool": lambda v, t: equal([str(x).lower() for x in many(v)], t.lower()),
         "IpAddress": in_block}
NOT = {"StringNotEquals": "StringEquals", "StringNotLike": "StringLike",
       "ArnNotEquals": "ArnEquals", "ArnNotLike": "ArnLike", "NotIpAddress": "IpAddress"}


def operator(name):
    """(test, negated, if_exists), or None for what nobody knows."""
    lenient = name.endswith("IfExists")
    name = name[:-len("IfExists")] if lenient else name
    if name == "Null":
        return None if lenient else ("Null", False, False)
    if NOT.get(name, name) not in TESTS:
        return None
    return TESTS[NOT.get(name, name)], name in NOT, lenient


def holds(condition, context):
    for name, keys in condition.items():
        test, negated, lenient = operator(name)
        for key, values in keys.items():
            found = context.get(key)
            if test == "Null":
                good = (str(many(values)[0]).lower() == "true") == (found is None)
            elif found is None:
                good = negated or lenient
            else:
                good = test(values, found) != negated
            if not good:
                return False
    return True


def verdict(document, action, resource, context):
    """"Deny", "Allow" or None."""
    found = None
    for s in many(document["Statement"]):
        if not any(pattern(a.lower()).fullmatch(action.lower()) for a in many(s["Action"])):
            continue
        if "Resource" in s and not like(s["Resource"], resource):
            continue
        if not holds(s.get("Condition", {}), context):
            continue
        if s["Effect"] == "Deny":
            return "Deny"
        found = "Allow"
    return found


def parse(text, what, principals, resource=None):
    """A document that is as it must be: else Failure. `resource`: what its ARNs begin with;
    None: it names none (a trust policy); "": anything."""
    def wrong(why):
        return Failure(400, what, why)
    try:
        document = json.loads(text)
    except ValueError:
        raise wrong("Syntax errors in policy.") from None
    if len(text) > LONGEST or not isinstance(document, dict) or \
            set(document) - {"Version", "Id", "Statement"}:
        raise wrong("Syntax errors in policy.")
    if document.get("Version") != VERSION or not document.get("Statement"):
        raise wrong("Missing required field Statement")
    sids = []
    for s in many(document["Statement"]):
        check_statement(s, wrong, principals, resource)
        sids += [s["Sid"]] if "Sid" in s else []
    if len(set(sids)) != len(sids):
        raise wrong("Statement IDs (SID) in a single policy must be unique.")
    return document


def check_statement(s, wrong, principals, resource):
    if not isinstance(s, dict) or set(s) - ELEMENTS or s.get("Effect") not in ("Allow", "Deny"):
        raise wrong("Policy has invalid statement")
    if not re.fullmatch("[A-Za-z0-9]*", s.get("Sid", "")):
        raise wrong("Statement IDs (SID) must be alpha-numeric")
    if not s.get("Action") or not all(re.fullmatch(r"[a-z0-9-]+:[A-Za-z*]+", a)
                                      for a in many(s["Action"])):
        raise wrong("Policy has invalid action")
    if ("Principal" in s) != principals:
        raise wrong("Missing required field Principal" if principals else
                    "Policy document should not specify a principal.")
    if (resource is None) == ("Resource" in s):
        raise wrong("Policy statement must contain resources." if resource is not None else
                    "Has prohibited field Resource")
    for arn in many(s.get("Resource", [])):
        if resource and not (arn == resource or arn.startswith(resource + "/")):
            raise wrong("Policy has invalid resource")
        if arn != "*" and not re.match(r"arn:[a-z-]+:[a-z0-9-]+:", arn):
            raise wrong("Resource %s must be in ARN format or \"*\"." % arn)
    for name, keys in s.get("Condition", {}).items():
        if operator(name) is None or not isinstance(keys, dict) or not keys:
            raise wrong("Invalid Condition type : " + name)


def told(document):
    """As services give it back: a list of one is its only text."""
    def short(value):
        if isinstance(value, dict):
            return {k: short(value[k]) for k in sorted(value)}
        if isinstance(value, list):
            return short(value[0]) if len(value) == 1 and isinstance(value[0], str) else \
                [short(v) for v in value]
        return value
    return json.dumps(short(document), separators=(",", ":"))
