#!/usr/bin/env python3
"""Serves the window for a browser on 127.0.0.1: ./dev web --serve [PORT] [FOLDER]

The page needs an isolated origin for its threads, and reads slices of the recordings beside it, so this server sends the two headers of
isolation and answers ranges. Files of FOLDER are at /recordings/."""
import functools
import http.server
import os
import re
import sys

TYPES = {".wasm": "application/wasm", ".js": "text/javascript", ".html": "text/html; charset=utf-8"}


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, **TYPES}

    def __init__(self, *arguments, recordings=None, **named):
        self.recordings = recordings
        super().__init__(*arguments, **named)

    def translate_path(self, path):
        prefix = "/recordings/"
        if self.recordings and path.startswith(prefix):
            kept, self.directory = self.directory, self.recordings
            try:
                return super().translate_path(path[len(prefix) - 1:])
            finally:
                self.directory = kept
        return super().translate_path(path)

    def end_headers(self):
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def do_GET(self):
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        path = self.translate_path(self.path)
        if not wanted or not os.path.isfile(path):
            return super().do_GET()
        first, last = int(wanted[1]), int(wanted[2])
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if first >= size or last < first:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{size}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            last = min(last, size - 1)
            file.seek(first)
            content = file.read(last - first + 1)
        self.send_response(206)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def main():
    site, port, recordings = sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
    handler = functools.partial(Handler, directory=site, recordings=recordings)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"Sluice is at http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
