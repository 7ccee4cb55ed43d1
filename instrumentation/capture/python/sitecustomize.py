"""Python runs this file at startup under `sluice record`. It adds ranges to the recording that show the host's activity
while a GPU is idle: garbage collection, the next batch of torch's DataLoader, torch.compile. Only ranges longer than
100 us are recorded, and only in processes that are recorded for another reason, because this file does not connect to
the recorder. It installs hooks when a program imports torch, cupy or jax. If a hook cannot be installed, its ranges are
missing.
"""
import importlib.machinery
import importlib.util
import os
import sys


def _run_other():
    """Runs the sitecustomize that Python would have run without this file, which comes before it in the path."""
    here = os.path.realpath(os.path.dirname(__file__))
    elsewhere = [folder for folder in sys.path if os.path.realpath(folder or ".") != here]
    other = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if other is None or other.loader is None:
        return
    module = importlib.util.module_from_spec(other)
    sys.modules["sitecustomize"] = module
    other.loader.exec_module(module)


# The code of the hooks. Its file name shows that it is not the program's code (see `is_own_file` in
# core/symbols/frames.cpp).
_HOOKS = '''
import ctypes
import functools
import gc
import time

library = ctypes.PyDLL(None)  # Keeps the GIL: calls take less than a microsecond.
now = library.sluice_now
now.restype = ctypes.c_uint64
add = library.sluice_range
add.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
clock = time.perf_counter_ns
SHORTEST = 100_000  # ns


def watch_garbage():
    begun = []

    def collected(phase, info):
        try:
            if phase == "start":
                begun[:] = (now(), clock())  # In this order, because the thread may lose its core in between.
            elif begun:
                if clock() - begun[1] >= SHORTEST:
                    add(b"garbage collection", begun[0])
                begun.clear()
        except Exception:
            pass

    gc.callbacks.append(collected)


def watch_batches(module):
    iterator = module._BaseDataLoaderIter
    original = iterator.__next__

    @functools.wraps(original)
    def __next__(self):
        at, begin = now(), clock()
        try:
            return original(self)
        finally:
            if clock() - begin >= SHORTEST:
                add(b"next batch of the DataLoader", at)

    iterator.__next__ = __next__


def watch_compilation(module):
    begun = []

    def started(*_):
        begun.append(now())

    def ended(*_):
        if begun:
            add(b"torch.compile", begun.pop())

    module.on_compile_start(started)
    module.on_compile_end(ended)
'''

_hooks = {}
_watched = []  # Contains the framework that was imported first.


def _hook(name):
    if not _hooks:
        exec(compile(_HOOKS, "<frozen sluice>", "exec"), _hooks)
    return _hooks[name]


def _after_framework(module):
    if not _watched:
        _watched.append(module.__name__)
        _hook("watch_garbage")()


_after = {
    "torch": _after_framework,
    "cupy": _after_framework,
    "jax": _after_framework,
    "torch.utils.data.dataloader": lambda module: _hook("watch_batches")(module),
    "torch._dynamo.callback": lambda module: _hook("watch_compilation")(module),
}


class _Finder:
    """Lets the other finders find a module, and installs a hook once the module has been executed."""

    def find_spec(self, name, path=None, target=None):
        after = _after.pop(name, None)
        if after is None:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                break
        else:
            return None
        try:
            self._follow(spec.loader, after)
        except Exception:
            pass
        return spec

    @staticmethod
    def _follow(loader, after):
        execute = loader.exec_module

        def exec_module(module):
            del loader.exec_module  # Restores the loader.
            execute(module)
            try:
                after(module)
            except Exception:
                pass

        loader.exec_module = exec_module


if __name__ == "sitecustomize":
    try:
        sys.meta_path.insert(0, _Finder())
    finally:
        _run_other()
