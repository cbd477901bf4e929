"""Filters and pages of EC2's describe calls."""
import base64

from .ec2_account import fits
from .http1 import Failure
from .xmltext import element


class Filters:
    """Filter.N.Name and .Value.M: values are alternatives, filters are all demanded."""

    def __init__(self, p, known):
        self.wanted = []
        for item in p.groups("Filter"):
            name, values = item.need("Name"), item.texts("Value")
            if not (name in known or (name.startswith("tag:") and "tag:" in known)):
                raise Failure(400, "InvalidParameterValue", "The filter '%s' is invalid"
                              % name)
            self.wanted.append((name, values))

    def pass_(self, told):
        """told(name) -> the values that a thing has under a filter's name."""
        return all(any(fits(v, str(t)) for v in values for t in told(name))
                   for name, values in self.wanted)


def page(p, found, low=5, high=1000, with_ids=False):
    """(those of this page, the token of the next or None)."""
    size, token = p.number("MaxResults", None, low, high), p.text("NextToken")
    if size is not None and with_ids:
        raise Failure(400, "InvalidParameterCombination", "The parameter instancesSet cannot "
                      "be used with the parameter maxResults")
    start = 0
    if token:
        try:
            start = int(base64.urlsafe_b64decode(token.encode()).decode())
        except ValueError:
            raise Failure(400, "InvalidParameterValue", "Invalid NextToken") from None
    end = start + (size or high)
    more = base64.urlsafe_b64encode(b"%d" % end).decode() if end < len(found) else None
    return found[start:end], more


def tag_set(tags):
    """The elements that show them: one, or none."""
    return [element("tagSet", *[element("item", ("key", k), ("value", v))
                                for k, v in tags.items()])] if tags else []


def tags_of(name, tags):
    """Values of tag:KEY and tag-key for a thing with these tags."""
    if name == "tag-key":
        return list(tags)
    if name.startswith("tag:"):
        return [tags[name[4:]]] if name[4:] in tags else []
    return None
