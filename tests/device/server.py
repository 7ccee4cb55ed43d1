#!/usr/bin/env python3
"""A server that answers with a small language model: the bundled recording server.sluice.

    server.py [--requests N] [--seconds S]

Requests arrive in bursts, each with a prompt of its own length. A worker thread answers one after the other. It keeps
the keys and values of each conversation (its KV cache) for a next question, and drops the oldest conversations once
there are more than a limit. The caches have the maximum length from the start, as in many simple servers.
"""
import argparse
import collections
import queue
import random
import threading
import time

import torch
from torch import nn

MAX_LENGTH = 1024
KEPT_CONVERSATIONS = 10


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, cache, begin):
        t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(t, 3, self.heads, c // self.heads).permute(1, 2, 0, 3)
        keys, values = cache
        keys[:, begin : begin + t] = k
        values[:, begin : begin + t] = v
        y = nn.functional.scaled_dot_product_attention(q, keys[:, : begin + t], values[:, : begin + t], is_causal=begin == 0)
        x = x + self.out(y.transpose(0, 1).reshape(t, c))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, words=32000, width=1024, layers=4, heads=16):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, words, bias=False)
        self.shape = (heads, MAX_LENGTH, width // heads)

    def make_cache(self):
        return [(torch.zeros(self.shape, device="cuda", dtype=torch.half), torch.zeros(self.shape, device="cuda", dtype=torch.half))
                for _ in self.layers]

    def forward(self, tokens, cache, begin):
        x = self.word(tokens)
        for layer, of_layer in zip(self.layers, cache):
            x = layer(x, of_layer, begin)
        return self.head(x[-1])


class Server:
    def __init__(self):
        self.model = Model().half().cuda().eval()
        self.conversations = collections.OrderedDict()
        self.requests = queue.Queue()
        self.worker = threading.Thread(target=self.work, name="worker")
        self.worker.start()

    def work(self):
        while (request := self.requests.get()) is not None:
            with torch.cuda.nvtx.range(f"request of {request[0]}"):
                self.answer(*request)

    @torch.inference_mode()
    def answer(self, user, prompt, count):
        cache = self.model.make_cache()
        self.conversations[user] = cache
        tokens = torch.tensor(prompt).cuda()
        begin = 0
        answered = []
        for _ in range(count):
            logits = self.model(tokens, cache, begin)
            begin += len(tokens)
            tokens = logits.argmax().view(1)
            answered.append(tokens.item())
        while len(self.conversations) > KEPT_CONVERSATIONS:
            self.conversations.popitem(last=False)
        return answered


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=1.5, help="time in which the requests arrive")
    options = parser.parse_args()

    server = Server()
    random.seed(7)
    for number in range(options.requests):
        prompt = [random.randrange(32000) for _ in range(random.choice([16, 64, 256, 512]))]
        server.requests.put((f"user {number}", prompt, random.randint(8, 20)))
        if number % 8 == 7:
            time.sleep(options.seconds / (options.requests / 8))
    server.requests.put(None)
    server.worker.join()
    print(f"{options.requests} requests, peak {torch.cuda.max_memory_allocated() >> 20} MiB")


main()
