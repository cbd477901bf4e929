#!/usr/bin/python3
"""Train a small neural language model on the dictionary of this machine.

The data are the English words that Debian packages as `wamerican`. The model
reads the last CONTEXT letters of a word and guesses the next one: embeddings,
one hidden layer, softmax, all in numpy with gradients worked out by hand.
A tenth of the words is held out; the model must guess those better than a
table of letter pairs does.

The program knows nothing of gpucloud but a few environment variables, and runs
without it too. It promises what a job needs to survive the loss of its machine:
  * a checkpoint holds everything (weights, Adam's moments, the state of the
    random generator), so a resumed run ends with the very same bytes;
  * a checkpoint is written beside its place and renamed: it is whole or absent;
  * SIGTERM ("you are about to lose this machine") saves and stops.
"""
import json
import os
import signal
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # same sums on every run
import numpy as np

WORDS = os.environ.get("WORDS", "/usr/share/dict/american-english")
STEPS = int(os.environ.get("STEPS", "800"))
SAVE_EVERY = int(os.environ.get("SAVE_EVERY", "100"))
CONTEXT, EMBED, HIDDEN, BATCH = 6, 16, 128, 256
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the dot begins and ends a word
PARAMS = ("emb", "w1", "b1", "w2", "b2")

stop_requested = False


def on_term(_signum, _frame):
    global stop_requested
    stop_requested = True


def load_words():
    with open(WORDS, encoding="utf-8") as f:
        words = {line.strip().lower() for line in f}
    return sorted(w for w in words if w.isascii() and w.isalpha())


def to_pairs(words):
    """Each letter of each word with the CONTEXT letters before it."""
    xs, ys = [], []
    for word in words:
        window = [0] * CONTEXT
        for c in word + ".":
            i = LETTERS.index(c)
            xs.append(window)
            ys.append(i)
            window = window[1:] + [i]
    return np.array(xs, dtype=np.int8), np.array(ys, dtype=np.int8)


def pair_table_loss(train, held_out):
    """Loss of the baseline: how often letter b follows letter a."""
    (tx, ty), (hx, hy) = train, held_out
    counts = np.ones((len(LETTERS), len(LETTERS)))
    np.add.at(counts, (tx[:, -1], ty), 1)
    logp = np.log(counts / counts.sum(1, keepdims=True))
    return -logp[hx[:, -1], hy].mean()


def new_model(rng):
    n = len(LETTERS)

    def normal(scale, *shape):
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    return {
        "emb": normal(0.3, n, EMBED),
        "w1": normal((CONTEXT * EMBED) ** -0.5, CONTEXT * EMBED, HIDDEN),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": normal(0.01, HIDDEN, n),
        "b2": np.zeros(n, np.float32),
    }


def forward(p, x):
    e = p["emb"][x].reshape(len(x), -1)
    h = np.tanh(e @ p["w1"] + p["b1"])
    z = h @ p["w2"] + p["b2"]
    z -= z.max(1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(1, keepdims=True))
    return e, h, logp


def loss_of(p, x, y):
    total = 0.0
    for i in range(0, len(x), 4096):
        _, _, logp = forward(p, x[i:i + 4096])
        total -= logp[np.arange(len(logp)), y[i:i + 4096]].sum(dtype=np.float64)
    return total / len(x)


def loss_and_gradients(p, x, y):
    e, h, logp = forward(p, x)
    rows = np.arange(len(x))
    loss = -logp[rows, y].mean()
    dz = np.exp(logp)
    dz[rows, y] -= 1
    dz /= len(x)
    dh = (dz @ p["w2"].T) * (1 - h * h)
    de = (dh @ p["w1"].T).reshape(-1, EMBED)
    one_hot = np.eye(len(LETTERS), dtype=np.float32)[x.reshape(-1)]
    return loss, {"emb": one_hot.T @ de, "w1": e.T @ dh, "b1": dh.sum(0),
                  "w2": h.T @ dz, "b2": dz.sum(0)}


def adam(s, grads):
    s["step"] += 1
    t = s["step"]
    rate = 0.004 * (1 + np.cos(np.pi * min(t / STEPS, 1))) / 2 + 1e-4
    for k in PARAMS:
        s["m"][k] = 0.9 * s["m"][k] + 0.1 * grads[k]
        s["v"][k] = 0.99 * s["v"][k] + 0.01 * grads[k] ** 2
        m = s["m"][k] / (1 - 0.9 ** t)
        v = s["v"][k] / (1 - 0.99 ** t)
        s["p"][k] -= (rate * m / (np.sqrt(v) + 1e-8)).astype(np.float32)


def save(s, folder):
    os.makedirs(folder, exist_ok=True)
    arrays = {f"{g}_{k}": s[g][k] for g in ("p", "m", "v") for k in PARAMS}
    arrays["step"] = s["step"]
    arrays["rng"] = json.dumps(s["rng"].bit_generator.state)
    part = os.path.join(folder, ".checkpoint.part")
    with open(part, "wb") as f:
        np.savez(f, **arrays)
        f.flush()
        os.fsync(f.fileno())
    os.replace(part, os.path.join(folder, "checkpoint.npz"))
    print(f"saved checkpoint at step {s['step']}", flush=True)


def start(resume_from):
    rng = np.random.default_rng(20240229)
    zeros = new_model(np.random.default_rng(0))
    for k in PARAMS:
        zeros[k] = zeros[k] * 0
    if not resume_from:
        return {"step": 0, "rng": rng, "p": new_model(rng),
                "m": dict(zeros), "v": dict(zeros)}
    with np.load(os.path.join(resume_from, "checkpoint.npz")) as z:
        s = {g: {k: z[f"{g}_{k}"] for k in PARAMS} for g in ("p", "m", "v")}
        s["step"] = int(z["step"])
        rng.bit_generator.state = json.loads(str(z["rng"]))
    s["rng"] = rng
    print(f"resumed at step {s['step']}", flush=True)
    return s


def spell(p, rng, count):
    """New words, one letter after the other, as the model would spell them."""
    words = []
    while len(words) < count:
        window, word = [0] * CONTEXT, ""
        while len(word) < 24:
            _, _, logp = forward(p, np.array([window]))
            q = np.exp(logp[0].astype(np.float64))
            i = int(rng.choice(len(LETTERS), p=q / q.sum()))
            if i == 0:
                break
            word += LETTERS[i]
            window = window[1:] + [i]
        if len(word) > 2:
            words.append(word)
    return words


def report(metrics, **values):
    if metrics:
        metrics.write(json.dumps(values) + "\n")
        metrics.flush()


def main():
    signal.signal(signal.SIGTERM, on_term)
    folder = os.environ.get("GPUCLOUD_CHECKPOINT_DIR", "checkpoints")
    metrics_file = os.environ.get("GPUCLOUD_METRICS")
    metrics = open(metrics_file, "a") if metrics_file else None

    words = load_words()
    held = to_pairs(words[::10])
    train = to_pairs([w for i, w in enumerate(words) if i % 10])
    baseline = pair_table_loss(train, held)
    print(f"{len(words)} words, {len(train[1])} letters to learn from, "
          f"{len(held[1])} held out", flush=True)
    print(f"a table of letter pairs reaches {baseline:.4f}", flush=True)

    s = start(os.environ.get("GPUCLOUD_RESUME_FROM"))
    began, first = time.monotonic(), s["step"]
    while s["step"] < STEPS:
        pick = s["rng"].integers(0, len(train[1]), BATCH)
        loss, grads = loss_and_gradients(s["p"], train[0][pick], train[1][pick])
        adam(s, grads)
        step = s["step"]
        if step % 20 == 0:
            print(f"step={step} loss={loss:.4f}", flush=True)
        if step % SAVE_EVERY == 0 or step == STEPS:
            held_loss = loss_of(s["p"], held[0][::5], held[1][::5])
            print(f"step={step} held_out={held_loss:.4f}", flush=True)
            report(metrics, step=step, held_out=round(float(held_loss), 4),
                   steps_per_second=round(
                       (step - first) / (time.monotonic() - began), 1))
            save(s, folder)
        elif stop_requested:
            save(s, folder)
        if stop_requested and step < STEPS:
            print("told to stop: saved, leaving", flush=True)
            sys.exit(128 + signal.SIGTERM)

    final = loss_of(s["p"], *held)
    os.makedirs("out", exist_ok=True)
    with open("out/model.npz", "wb") as f:
        np.savez(f, **s["p"])
    new = spell(s["p"], s["rng"], 20)
    with open("out/samples.txt", "w") as f:
        f.write("\n".join(new) + "\n")
    print(f"done: held_out={final:.4f} against {baseline:.4f} for the table")
    print("new words: " + " ".join(new[:8]))
    if final >= baseline:
        sys.exit("error: the model learned less than a table of letter pairs")


if __name__ == "__main__":
    main()
