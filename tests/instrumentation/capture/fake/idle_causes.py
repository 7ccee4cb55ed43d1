"""A Python program with a stand-in for torch: it loads batches and compiles slowly, and makes much garbage. With
`connected` it annotates its own recording; with `alone` it does nothing else that is recorded."""
import gc
import os
import sys
import tempfile
import time

FILES = {
    "torch/__init__.py": "import torch.utils.data.dataloader\n",
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "",
    "torch/utils/data/dataloader.py": """
import time


class _BaseDataLoaderIter:
    def __init__(self, seconds):
        self.seconds = iter(seconds)

    def __iter__(self):
        return self

    def __next__(self):
        '''The next batch.'''
        seconds = next(self.seconds)
        time.sleep(seconds)
        return seconds


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    pass
""",
    "torch/_dynamo/__init__.py": "",
    "torch/_dynamo/callback.py": """
starts, ends = [], []


def on_compile_start(callback):
    starts.append(callback)
    return callback


def on_compile_end(callback):
    ends.append(callback)
    return callback
""",
}

with tempfile.TemporaryDirectory() as folder:
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, folder)
    import torch
    from torch._dynamo import callback
    from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

    assert "exec_module" not in vars(torch.__loader__), "the loader is as it was"
if sys.argv[1] == "connected":
    import sluice

    sluice.mark("connected")

gc.disable()
SECONDS = [0.002, 0.003] + [0] * 100
assert list(_SingleProcessDataLoaderIter(SECONDS)) == SECONDS
assert _SingleProcessDataLoaderIter.__next__.__name__ == "__next__"
assert _SingleProcessDataLoaderIter.__next__.__doc__ == "The next batch."
for each in callback.starts:
    each()  # Calls the callbacks as torch before 2.7 does.
time.sleep(0.002)
for each in callback.ends:
    each("arguments")
garbage = []
for _ in range(200_000):
    one = []
    one.append(one)
    garbage.append(one)
one = None
garbage = None
gc.collect()
for _ in range(100):
    gc.collect(0)
gc.freeze()  # Leaves no garbage to collect at the end.
