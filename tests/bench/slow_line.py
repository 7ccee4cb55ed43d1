#!/usr/bin/env python3
"""Simulates a slow line: forwards TCP connections with a delay in each direction and a limited rate.

    slow_line.py PORT HOST:PORT MILLISECONDS MBIT

Listens on 127.0.0.1:PORT. MILLISECONDS is the delay in each direction, MBIT the rate in each direction in 10^6 bits per
second. It serves to measure `sluice open ssh://` if the kernel has no netem.
"""
import queue
import socket
import sys
import threading
import time


def pass_on(source, target, delay, rate, name):
    """Reads data at once, and sends each piece at the time when a slow line would deliver it."""
    line = queue.Queue(maxsize=4096)
    total = 0

    def send():
        free_at = 0.0
        while True:
            arrived, piece = line.get()
            free_at = max(free_at, arrived) + len(piece) / rate  # the line sends one piece after another
            time.sleep(max(0.0, free_at + delay - time.monotonic()))
            try:
                if piece:
                    target.sendall(piece)
                else:
                    target.shutdown(socket.SHUT_WR)
            except OSError:
                return
            if not piece:
                return

    threading.Thread(target=send, daemon=True).start()
    while True:
        try:
            piece = source.recv(1500)
        except OSError:
            piece = b""
        line.put((time.monotonic(), piece))
        total += len(piece)
        if not piece:
            print(f"{name}: {total} bytes", file=sys.stderr, flush=True)
            return


def main():
    port, target, delay, rate = sys.argv[1:]
    host, target_port = target.rsplit(":", 1)
    listening = socket.create_server(("127.0.0.1", int(port)))
    while True:
        client, _ = listening.accept()
        server = socket.create_connection((host, int(target_port)))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        how = (float(delay) / 1e3, float(rate) * 1e6 / 8)
        for way in ((client, server, *how, "there"), (server, client, *how, "back")):
            threading.Thread(target=pass_on, args=way, daemon=True).start()


main()
