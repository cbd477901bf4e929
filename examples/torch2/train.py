#!/usr/bin/python3
"""Data-parallel training over two ranks, with real gradients over gloo.

A small GRU reads a word letter by letter and predicts each next letter, like
examples/quickstart, but in PyTorch and split over ranks: each rank works on its
own share of every batch and DistributedDataParallel averages the gradients.

Rank 0 alone writes checkpoints. Batches are drawn from a generator seeded by
the step, so a resumed run sees the words that an uninterrupted one sees.
"""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WORDS = os.environ.get("WORDS", "/usr/share/dict/american-english")
STEPS = int(os.environ.get("STEPS", "200"))
SAVE_EVERY = int(os.environ.get("SAVE_EVERY", "25"))
BATCH, LENGTH, SYMBOLS = 32, 12, 28  # 0 pads, 1..26 letters, 27 ends a word

stop_requested = False


def on_term(_signum, _frame):
    global stop_requested
    stop_requested = True


def load_words():
    with open(WORDS, encoding="utf-8") as f:
        words = {line.strip().lower() for line in f}
    words = sorted(w for w in words if w.isascii() and w.isalpha()
                   and len(w) < LENGTH)
    table = torch.zeros(len(words), LENGTH, dtype=torch.long)
    for row, word in zip(table, words):
        codes = [ord(c) - 96 for c in word] + [27]
        row[:len(codes)] = torch.tensor(codes)
    return table


class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, 16)
        self.gru = nn.GRU(16, 64, batch_first=True)
        self.out = nn.Linear(64, SYMBOLS)

    def forward(self, x):
        return self.out(self.gru(self.embed(x))[0])


def loss_of(model, words):
    """Mean loss of each next letter; padding does not count."""
    before = torch.cat([torch.zeros_like(words[:, :1]), words[:, :-1]], 1)
    return nn.functional.cross_entropy(
        model(before).transpose(1, 2), words, ignore_index=0)


def save(folder, step, model, optimizer):
    os.makedirs(folder, exist_ok=True)
    part = os.path.join(folder, ".checkpoint.part")
    torch.save({"step": step, "model": model.state_dict(),
                "optimizer": optimizer.state_dict()}, part)
    os.replace(part, os.path.join(folder, "checkpoint.pt"))
    print(f"saved checkpoint at step {step}", flush=True)


def any_rank_stops():
    flag = torch.tensor([float(stop_requested)])
    dist.all_reduce(flag)
    return flag.item() > 0


def train(rank, ranks, words, held_out):
    folder = os.environ.get("GPUCLOUD_CHECKPOINT_DIR", "checkpoints")
    torch.manual_seed(7)
    model = Speller()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step, resume = 0, os.environ.get("GPUCLOUD_RESUME_FROM")
    if resume:
        state = torch.load(os.path.join(resume, "checkpoint.pt"))
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
        print(f"rank {rank} resumed at step {step}", flush=True)
    parallel = DistributedDataParallel(model)

    while step < STEPS:
        draw = torch.Generator().manual_seed(step)
        pick = torch.randint(len(words), (BATCH * ranks,), generator=draw)
        loss = loss_of(parallel, words[pick[rank::ranks]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        stop = any_rank_stops()
        if rank == 0 and step % 10 == 0:
            print(f"step={step} loss={loss.item():.4f}", flush=True)
        if rank == 0 and (step % SAVE_EVERY == 0 or step == STEPS or stop):
            save(folder, step, model, optimizer)
        if stop and step < STEPS:
            sys.exit(128 + signal.SIGTERM)

    with torch.no_grad():
        mine = loss_of(model, held_out[rank::ranks])
    dist.all_reduce(mine)
    return model, mine.item() / ranks


def main():
    signal.signal(signal.SIGTERM, on_term)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {ranks} is up", flush=True)
    words = load_words()
    held_out = words[::20]
    words = words[torch.arange(len(words)) % 20 != 0]
    model, held_loss = train(rank, ranks, words, held_out)
    if rank == 0:
        os.makedirs("out", exist_ok=True)
        torch.save(model.state_dict(), "out/model.pt")
        print(f"done: held_out={held_loss:.4f} on {ranks} ranks", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
