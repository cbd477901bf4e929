"""XML as the stores write and read it."""
import xml.etree.ElementTree as ElementTree

from .http1 import Answer, Failure

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
S3 = "http://s3.amazonaws.com/doc/2006-03-01/"


def escape(text):
    out = []
    for char in str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace"):
        if char in "&<>\"":
            out.append({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[char])
        elif ord(char) < 32 and char not in "\t\n":
            out.append("&#x%X;" % ord(char))  # as S3 does, though XML 1.0 has no such
        else:
            out.append(char)
    return "".join(out)


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
