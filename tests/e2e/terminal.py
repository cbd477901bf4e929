"""Runs a command at a terminal of its own, as a person would.

    terminal.py [--size ROWSxCOLUMNS] [--screen] SCRIPT COMMAND...

SCRIPT has lines REGEX|ACTION, played in order: once REGEX is found in what was
shown since the last action, or on the screen, ACTION is done:
    close       the terminal goes away
    end         so it does, and the command is killed
    size R C    the window gets another size
    TEXT        is typed; it may hold \\n, \\t and \\NNN (octal)

stdout: what was shown, or with --screen what stands there at the end.
stderr: "left N after M ms": lines that were not played, and the time from the
last action to the end; with --screen "scrolled N left N ...", and before it
"WRAPPED: TEXT"; "TIMED OUT" when it took longer than $AT_MOST seconds.
Exit status: the command's; 256 - n if signal n ended it.
"""
import codecs, fcntl, os, pty, re, select, signal, struct, sys, termios, time


class Shown:
    """All bytes as they came."""

    def __init__(self):
        self.text, self.seen = "", 0

    def put(self, text):
        self.text += text

    def unseen(self):
        return self.text[self.seen:]

    def acted(self):
        self.seen = len(self.text)

    def resize(self, rows, columns):
        pass

    def __str__(self):
        return self.text.replace("\r\n", "\n")


class Screen:
    """Enough of a terminal for what is sent; text that wraps is an error."""

    def __init__(self):
        self.lines, self.y, self.x, self.scrolled = [""], 0, 0, 0

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns

    def put(self, text):
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", text):
            while len(self.lines) <= self.y:
                self.lines.append("")
            if part == "\r":
                self.x = 0
            elif part == "\n":
                self.new_line()
            elif part[0] == "\x1b":
                self.control(int(re.sub(r"\D", "", part) or 0), part[-1])
            else:
                self.write(part)

    def new_line(self):
        self.y += 1
        self.x = 0
        if self.y >= self.rows:
            del self.lines[0]
            self.y -= 1
            self.scrolled += 1

    def control(self, n, letter):
        if letter == "A":
            self.y = max(0, self.y - n)
        elif letter == "K":
            self.lines[self.y] = self.lines[self.y][:self.x]
        elif letter == "J":
            del self.lines[self.y + 1 if n == 0 else 0:]
            if n == 0:
                self.lines[self.y] = self.lines[self.y][:self.x]
        elif letter == "H":
            self.y = self.x = 0

    def write(self, text):
        line, x = self.lines[self.y], self.x
        self.lines[self.y] = line[:x].ljust(x) + text + line[x + len(text):]
        self.x += len(text)
        if self.x >= self.columns:
            print("WRAPPED:", text, file=sys.stderr)

    def unseen(self):
        return str(self)

    def acted(self):
        pass

    def __str__(self):
        return "\n".join(self.lines)


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def typed(text):
    return re.sub(r"\\([0-7]{3}|[nt])", lambda m: {"n": "\n", "t": "\t"}.get(m[1])
                  or chr(int(m[1], 8)), text).encode()


def act(action, pid, fd, shown):
    """Returns whether the terminal is still there."""
    if action in ("close", "end"):
        os.close(fd)
        if action == "end":
            os.kill(pid, signal.SIGKILL)
        return False
    if action.startswith("size "):
        rows, columns = map(int, action.split()[1:])
        shown.resize(rows, columns)
        set_size(fd, rows, columns)
    else:
        os.write(fd, typed(action))
    shown.acted()
    return True


def play(script, pid, fd, shown):
    """Until the command ends; returns when the last action was."""
    end, last = time.monotonic() + float(os.environ["AT_MOST"]), time.monotonic()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:           # nobody has the other side open
                return last
            if not data:
                return last
            shown.put(decoder.decode(data))
        if script and re.search(script[0][0], shown.unseen()):
            last = time.monotonic()
            if not act(script.pop(0)[1], pid, fd, shown):
                return last
    print("TIMED OUT", file=sys.stderr)
    os.kill(pid, signal.SIGTERM)
    return last


def main(words):
    size, shown = None, Shown()
    while words[0].startswith("--"):
        option = words.pop(0)
        if option == "--size":
            size = tuple(map(int, words.pop(0).split("x")))
        elif option == "--screen":
            shown = Screen()
    script = [line.rsplit("|", 1) for line in words.pop(0).splitlines() if line]
    pid, fd = pty.fork()
    if pid == 0:
        if size:
            set_size(0, *size)
        os.execvp(words[0], words)
    if size:
        shown.resize(*size)
    last = play(script, pid, fd, shown)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    took = (time.monotonic() - last) * 1000
    sys.stdout.buffer.write(str(shown).encode())
    scrolled = f"scrolled {shown.scrolled} " if isinstance(shown, Screen) else ""
    print(f"{scrolled}left {len(script)} after {took:.0f} ms", file=sys.stderr)
    sys.exit(status)


main(sys.argv[1:])
