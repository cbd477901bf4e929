"""What stands between the public address of a machine and the machine: its security
groups. Only for machines that have addresses of this system (`nets` of the configuration,
two networks within 127.0.0.0/8): a port of the public one is listened at as long as some
group of the machine lets anybody in, each connection is asked where it comes from, and
goes on to the same port of the private one.
"""
import ipaddress
import socket
import threading

MOST = 64  # ports of one machine
PIECE = 65536


class Gate:
    def __init__(self, book):
        self.book, self.doors = book, {}
        self.lock = threading.Lock()

    def update(self):
        """After every change of machines, groups and rules."""
        if not self.book.config.get("nets"):
            return
        with self.lock:
            wanted = {(m.public, port): m for m in self.book.machines.values()
                      if m.public and m.gone_at is None for port in self.ports(m)}
            for place in [p for p in self.doors if p not in wanted]:
                shut(self.doors.pop(place))
            for place, machine in wanted.items():
                if place not in self.doors:
                    self.open(place, machine)

    def close(self):
        with self.lock:
            while self.doors:
                shut(self.doors.popitem()[1])

    def rules(self, machine):
        groups = self.book.region(machine.region).groups
        return [r for ident in machine.groups if ident in groups for r in groups[ident].rules
                if r["protocol"] in ("tcp", "6") and r.get("cidr")]

    def ports(self, machine):
        found = set()
        for rule in self.rules(machine):
            found.update(range(rule["from"], min(rule["to"], rule["from"] + MOST) + 1))
        return sorted(found)[:MOST]

    def lets(self, machine, port, peer):
        return any(r["from"] <= port <= r["to"] and
                   ipaddress.ip_address(peer) in ipaddress.ip_network(r["cidr"])
                   for r in self.rules(machine))

    def open(self, place, machine):
        try:
            door = socket.create_server(place, backlog=16)
        except OSError:
            return
        self.doors[place] = door
        threading.Thread(target=self.serve, args=(door, place[1], machine),
                         daemon=True).start()

    def serve(self, door, port, machine):
        while True:
            try:
                guest, (peer, _) = door.accept()
            except OSError:
                return
            try:
                if not self.lets(machine, port, peer):
                    raise OSError("not let in")
                host = socket.create_connection((machine.address, port), timeout=10)
                host.settimeout(None)
            except OSError:
                guest.close()
                continue
            for pair in ((guest, host), (host, guest)):
                threading.Thread(target=pump, args=pair, daemon=True).start()


def shut(door):
    """Whoever waits in accept() is woken by the first, not by the second."""
    door.shutdown(socket.SHUT_RDWR)
    door.close()


def pump(source, target):
    try:
        while True:
            piece = source.recv(PIECE)
            if not piece:
                break
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
