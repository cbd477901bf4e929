"""python3 -m fakecloud --dir DIR --ready FILE: starts the stand-in of the clouds.

The ready file appears, whole, once every port listens: {"pid", "http": {service: URL},
"https": {...}, "keys": ...}. SIGTERM and SIGINT end it; so does the end of stdin with
--until-eof. README.md tells the rest.
"""
import argparse
import json
import os
import signal
import ssl
import sys
import threading

from . import services
from .control import Control
from .server import Server
from .world import World


def options():
    parser = argparse.ArgumentParser(prog="fakecloud", description=__doc__.splitlines()[0])
    parser.add_argument("--dir", required=True, help="folder for large bodies")
    parser.add_argument("--ready", help="file to write the URLs to; else stdout")
    parser.add_argument("--port", type=int, default=0, help="the first of a row; 0: any")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
    parser.add_argument("--config", help="JSON: keys, roles, buckets, settings")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a setting, its value as JSON or a word")
    parser.add_argument("--bucket", action="append", default=[],
                        metavar="SERVICE:NAME[:REGION]", help="a bucket more")
    parser.add_argument("--cert", help="PEM file of a certificate: TLS ports as well")
    parser.add_argument("--key", help="PEM file of its key")
    parser.add_argument("--ignore-conditions", action="store_true",
                        help="conditional writes are done whatever their condition")
    parser.add_argument("--no-conditions", action="store_true",
                        help="conditional writes are refused (501)")
    parser.add_argument("--until-eof", action="store_true", help="end when stdin does")
    return parser.parse_args()


def settings(args):
    found = {}
    for item in args.set:
        name, _, text = item.partition("=")
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    if args.ignore_conditions:
        found["conditions"] = "ignore"
    if args.no_conditions:
        found["conditions"] = "refuse"
    return found


def configuration(args):
    config = {}
    if args.config:
        with open(args.config, encoding="utf-8") as source:
            config = json.load(source)
    return config


def write_ready(args, world, server):
    text = json.dumps({"pid": os.getpid(), "dir": args.dir, **server.urls,
                       "config": world.config}, indent=1) + "\n"
    if not args.ready:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with open(args.ready + ".tmp", "w", encoding="utf-8") as out:
        out.write(text)
    os.rename(args.ready + ".tmp", args.ready)


def main():
    args = options()
    if not (args.host.startswith("127.") or args.host in ("::1", "localhost")):
        sys.exit("fakecloud: %s is no loopback address" % args.host)
    os.makedirs(args.dir, exist_ok=True)
    tls = None
    if args.cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(args.cert, args.key)
    try:
        world = World(args.dir, configuration(args), settings(args))
        for item in args.bucket:
            service, name, region = (item.split(":") + [None])[:3]
            place = {"service": service, "name": name}
            world.given["buckets"].append(dict(place, region=region) if region else place)
        world.reset()
    except (ValueError, KeyError, OSError) as wrong:
        sys.exit("fakecloud: %s" % wrong)
    server = Server(world, services.all_of(world), Control(world), args.host, tls)
    server.listen(args.port)
    world.ports = world.ec2.ports = server.open_port
    world.urls = {n: server.urls["http"][n]
                  for n in ("s3", "ec2", "sts", "ssm", "cloudwatch", "auto_scaling")}
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    if args.until_eof:
        threading.Thread(target=lambda: (sys.stdin.read(), server.stop()),
                         daemon=True).start()
    write_ready(args, world, server)
    server.run()
    world.ec2.close()


main()
