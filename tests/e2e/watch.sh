#!/bin/sh
# status --watch: in place on a terminal, a line for each change elsewhere.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# screen.py ROWS COLUMNS SCRIPT COMMAND…: runs the command at a terminal of that
# size and plays what a terminal would show of it. SCRIPT has lines "REGEX|KEYS"
# or "REGEX|size ROWS COLUMNS": when the screen shows REGEX, keys are typed or
# the window gets another size. Prints the last screen and the exit status.
cat >screen.py <<'P'
import fcntl, os, pty, re, select, signal, struct, sys, termios, time
rows, cols = int(sys.argv[1]), int(sys.argv[2])
script = [line.rsplit("|", 1) for line in sys.argv[3].splitlines() if line]
pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.2)
    os.execvp(sys.argv[4], sys.argv[4:])
def resize(r, c):
    global rows, cols, screen
    rows, cols = r, c
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", r, c, 0, 0))
screen, y, x, scrolled, writes = [""], 0, 0, 0, 0
resize(rows, cols)
def put(text):
    """Enough of a terminal for what is sent; text that wraps is an error."""
    global y, x, scrolled
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", text):
        while len(screen) <= y:
            screen.append("")
        if part == "\r":
            x = 0
        elif part == "\n":
            y += 1
            x = 0
            if y >= rows:
                del screen[0]
                y -= 1
                scrolled += 1
        elif part[0] == "\x1b":
            n = int(re.sub(r"\D", "", part) or 0)
            if part[-1] == "A":
                y = max(0, y - n)
            elif part[-1] == "K":
                screen[y] = screen[y][:x]
            elif part[-1] == "J":
                del screen[y + 1 if n == 0 else 0:]
                if n == 0:
                    screen[y] = screen[y][:x]
            elif part[-1] == "H":
                y = x = 0
        else:
            screen[y] = screen[y][:x].ljust(x) + part + screen[y][x + len(part):]
            x += len(part)
            if x >= cols:
                print("WRAPPED:", part)
end = time.monotonic() + float(os.environ.get("AT_MOST", "60"))
while time.monotonic() < end:
    if select.select([fd], [], [], 0.05)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        put(data.decode())
    if script and re.search(script[0][0], "\n".join(screen)):
        what = script.pop(0)[1]
        if what.startswith("size "):
            resize(*map(int, what.split()[1:]))
        else:
            os.write(fd, what.encode().decode("unicode_escape").encode())
else:
    print("TIMED OUT")
    os.kill(pid, signal.SIGTERM)
_, status = os.waitpid(pid, 0)
print("\n".join(screen))
print(f"status {os.waitstatus_to_exitcode(status)} scrolled {scrolled} left {len(script)}")
P
at_screen() {
	run env AT_MOST=$((40 * SLOW)) TERM=xterm NO_COLOR=1 PYTHONUNBUFFERED=1 \
		/usr/bin/python3 screen.py "$@"
	[ -z "$err" ] || note "$err"
}
count() { printf '%s\n' "$out" | grep -Ec -- "$1"; }

cat >hold.yaml <<'Y'
name: hold
run: while [ ! -e "$GO" ]; do sleep 0.1; done
Y
start() { # NAME: a job that ends when $T/NAME exists
	gpc submit -d --name "$1" -e GO="$T/$1" hold.yaml 2>/dev/null
}
runs() { gpc status "$1" --json | grep -q '"state": "RUNNING"'; }

# Without a terminal: once, then at each change, then nothing until the end.
first=$(start first)
wait_until 20 runs first
run sh -c '"$1" status first --watch=0.2 >"$2/seen" & p=$!; until [ -s "$2/seen" ]; do sleep 0.1; done; sleep 1; : >"$2/first"; wait $p' \
	sh "$GPUCLOUD_BIN" "$T"
is "$rc" 0 "status JOB --watch ends with the job, with 0"
out=$(cat "$T/seen")
is "$(count '^State: +RUNNING')" 1 "a state is shown once, not at each look"
is "$(count '^State: +SUCCEEDED')" 1 "the end is shown"

# JSON: one object on one line for each change.
start json >/dev/null
wait_until 20 runs json
run sh -c '"$1" status json --watch=0.2 --json >"$2/seen" & p=$!; until [ -s "$2/seen" ]; do sleep 0.1; done; sleep 0.5; : >"$2/json"; wait $p' \
	sh "$GPUCLOUD_BIN" "$T"
is "$rc" 0 "with --json it ends too"
if /usr/bin/python3 - "$T/seen" <<'P'; then ok 0 "each line is one object of gpucloud.job/1"; else ok 1 "each line is one object of gpucloud.job/1"; fi
import json, sys
states = []
for line in open(sys.argv[1]):
    o = json.loads(line)
    assert o["schema"] == "gpucloud.job/1", o
    states.append(o["state"])
assert states[0] == "RUNNING" and states[-1] == "SUCCEEDED", states
assert len(states) == len(set(zip(states, range(len(states))))) and states.count("RUNNING") == 1, states
P
run gpc status "$first" --watch --json
is "$rc" 0 "a job that has ended is shown once"
is "$(count .)" 1 "on one line"

# The list, ended by a signal.
none_held() { ! gpc status --json | grep -q '"nodes_held": [1-9]'; }
wait_until 30 none_held
run sh -c 'timeout -s TERM 2 "$1" status --watch=0.2 --json >"$2/seen"; echo $?' \
	sh "$GPUCLOUD_BIN" "$T"
like "$out" '^(124|143)$' "the list is watched until somebody ends it"
out=$(cat "$T/seen")
is "$(count '"rows":')" 1 "nothing changed: it is printed once"

# A reader that went away ends it, although nothing changes.
run sh -c '"$1" status --watch=0.2 | head -n 1' sh "$GPUCLOUD_BIN"
is "$rc" 0 "it ends with its reader"

# A terminal: in place, one table however often it is drawn.
start term >/dev/null
wait_until 20 runs term
at_screen 24 80 "term-.*RUNNING[^|]*again every 0.2s|\\003" "$GPUCLOUD_BIN" status --watch=0.2
like "$out" 'status 130 ' "Ctrl-C ends it with 130"
is "$(count '^JOB ')" 1 "there is one table"
like "$out" '^term-.*RUNNING' "which stays on the screen"
unlike "$out" 'WRAPPED|TIMED OUT' "no line wraps"
like "$out" 'scrolled 0 left 0' "and nothing scrolls"

# Low and narrow, then another size while it runs.
at_screen 4 30 "more lines|size 24 80
^(.*\\n)*first-.*(.*\\n)*.*Ctrl-C ends|\\003" "$GPUCLOUD_BIN" status --watch=0.2
like "$out" 'status 130 scrolled 0 left 0' "it follows the size of the window"
unlike "$out" 'WRAPPED|TIMED OUT|more lines' "and shows all that fits"
is "$(count '^JOB ')" 1 "once"

# One job at a terminal, to its end.
(sleep 2 && : >"$T/term") &
at_screen 24 80 "" "$GPUCLOUD_BIN" status term --watch=0.2
like "$out" 'status 0 scrolled 0' "a job's detail is drawn in place and ends"
like "$out" '^State: +SUCCEEDED' "with its last state"
is "$(count '^Job: ')" 1 "once"

run gpc status --watch=0
is "$rc" 2 "--watch=0 is refused"
run gpc status --watch=0.01
is "$rc" 2 "so is what would be a busy loop"
finish
