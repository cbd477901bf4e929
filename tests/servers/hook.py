#!/usr/bin/env python3
"""A server that is told things: keeps each body that it is sent.

  hook.py FOLDER [CERT KEY]

In FOLDER it writes `url` (its address), `told` (a line for each POST: its path, its
Idempotency-Key and its JSON) and reads `answers`: statuses for the next requests, one
a line, which are used up; afterwards all is 200. `hang` answers nothing for an hour,
`moved` sends elsewhere.
"""
import http.server
import json
import os
import ssl
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()


def next_answer():
    with lock:
        path = os.path.join(folder, "answers")
        try:
            with open(path) as f:
                lines = f.read().split()
        except FileNotFoundError:
            return "200"
        if not lines:
            return "200"
        with open(path + ".new", "w") as f:
            f.write("".join(line + "\n" for line in lines[1:]))
        os.rename(path + ".new", path)
        return lines[0]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        word = next_answer()
        line = {"path": self.path, "key": self.headers["Idempotency-Key"],
                "type": self.headers["Content-Type"], "answer": word,
                "body": json.loads(body)}
        with lock, open(os.path.join(folder, "told"), "a") as f:
            f.write(json.dumps(line) + "\n")
        if word == "hang":
            time.sleep(3600)
        self.send_response(307 if word == "moved" else int(word))
        if word == "moved":
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
scheme = "http"
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https"
with open(os.path.join(folder, "url.new"), "w") as f:
    f.write("%s://127.0.0.1:%d\n" % (scheme, server.server_address[1]))
os.rename(os.path.join(folder, "url.new"), os.path.join(folder, "url"))
server.serve_forever()
