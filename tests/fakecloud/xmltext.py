"""XML as the stores write and read it."""
import re
import xml.etree.ElementTree as ElementTree

from .http1 import Answer, Failure

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
S3 = "http://s3.amazonaws.com/doc/2006-03-01/"


SPECIAL = re.compile("[&<>\"\x00-\x08\x0b-\x1f\ud800-\udfff]")
NAMES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escape(text):
    """Control characters become references, as S3 writes them though XML 1.0 has no
    such; bytes that are no UTF-8 become U+FFFD."""
    return SPECIAL.sub(replace, str(text))


def replace(match):
    char = match.group()
    if ord(char) >= 0xd800:
        return "\ufffd"
    return NAMES.get(char) or "&#x%X;" % ord(char)


def element(name, *content):
    """Content: text, elements made here (class Raw), or pairs (name, text)."""
    out = []
    for item in content:
        if isinstance(item, Raw):
            out.append(item)
        elif isinstance(item, tuple):
            if item[1] is not None:
                out.append(element(*item))
        else:
            out.append(escape(item))
    return Raw("<%s>%s</%s>" % (name, "".join(out), name.partition(" ")[0]))


class Raw(str):
    pass


def document(name, *content, xmlns=S3):
    root = '%s xmlns="%s"' % (name, xmlns) if xmlns else name
    return (HEAD + element(root, *content)).encode("utf-8")


def answer(name, *content, status=200, headers=(), xmlns=S3):
    return Answer(status, headers, document(name, *content, xmlns=xmlns), "application/xml")


def parse(body, root):
    """The root element, its names without namespace."""
    try:
        tree = ElementTree.fromstring(bytes(body))
    except ElementTree.ParseError:
        raise malformed() from None
    for item in tree.iter():
        item.tag = item.tag.rpartition("}")[2]
    if tree.tag != root:
        raise malformed()
    return tree


def malformed():
    return Failure(400, "MalformedXML", "The XML you provided was not well-formed or did "
                   "not validate against our published schema")
