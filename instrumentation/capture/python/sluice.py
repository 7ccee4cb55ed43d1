"""Lets a Python program describe itself to its recorder.

Under `sluice record -- python ...` this module can be imported without installation. A program that should also run
without the recorder needs this file, which is in the folder `python` next to the program `sluice`. Its functions then
do nothing.

    import sluice

    for batch in data:
        sluice.step()
        with sluice.scope("forward"):
            loss = model(batch)
    sluice.tag(table, "input", "lookup table")
    sluice.tag_model(model, optimizer)        # weights, gradients, optimizer state
    sluice.watch_cupy()                       # blocks of CuPy's pool; call once in each thread that uses CuPy
    sluice.watch_rmm()                        # blocks of RMM's current resource

`python -m sluice record -- python train.py` runs the program `sluice` that this file was installed with.
"""
import contextlib
import ctypes
import importlib.machinery
import importlib.util
import os
import sys

__all__ = ["recording", "step", "mark", "push", "pop", "scope", "pause", "resume", "pause_sampling", "resume_sampling", "tag",
           "tag_model", "block_alloc", "block_free", "watch_cupy", "watch_rmm"]


def _make_way():
    """Imports an installed package named `sluice` instead of this file, because PYTHONPATH hides installed packages."""
    here = os.path.realpath(os.path.dirname(__file__))
    elsewhere = [folder for folder in sys.path if os.path.realpath(folder or ".") != here]
    other = importlib.machinery.PathFinder.find_spec("sluice", elsewhere)
    if other is None or other.loader is None or other.origin is None:
        return
    with open(other.origin, encoding="utf-8", errors="replace") as text:
        if text.read(200).startswith(__doc__.splitlines()[0], 3):  # It is a copy of this file.
            return
    module = importlib.util.module_from_spec(other)
    sys.modules[__name__] = module
    other.loader.exec_module(module)


if __name__ == "sluice":
    _make_way()


def _find():
    """Returns the library that `sluice record` preloaded into this process, or None."""
    try:
        library = ctypes.PyDLL(None)  # Keeps the GIL: calls take less than a microsecond.
        library.sluice_recording.restype = ctypes.c_int
        library.sluice_step.argtypes = [ctypes.c_int64]
        library.sluice_mark.argtypes = [ctypes.c_char_p]
        library.sluice_push.argtypes = [ctypes.c_char_p]
        library.sluice_tag.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        library.sluice_block_alloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_char_p]
        library.sluice_block_free.argtypes = [ctypes.c_void_p]
        return library if library.sluice_recording() else None
    except (AttributeError, OSError):
        return None


_library = _find()


def recording():
    """Returns True if this process is recorded."""
    return _library is not None


def _text(text):
    return None if text is None else str(text).encode("utf-8", "replace")


def step(number=None):
    """Begins step `number`. Without a number, begins the step after the last step."""
    if _library is not None:
        _library.sluice_step(-1 if number is None else int(number))


def mark(name):
    """Marks a point in time with a name."""
    if _library is not None:
        _library.sluice_mark(_text(name))


def push(name):
    """Begins a scope of this thread. Scopes can be nested."""
    if _library is not None:
        _library.sluice_push(_text(name))


def pop():
    """Ends the innermost scope of this thread."""
    if _library is not None:
        _library.sluice_pop()


def pause():
    """Stops recording copies, kernels and waits, and sampling host threads, until `resume`. Allocations and frees are
    still recorded, so totals stay right. To record only a few steps of a long program, pause before its first step."""
    if _library is not None:
        _library.sluice_pause()


def resume():
    """Ends a pause."""
    if _library is not None:
        _library.sluice_resume()


def pause_sampling():
    """Stops sampling this process's host threads until `resume_sampling`; all else is recorded. Both take effect within
    0.1 s. The pause is shown as time without samples. A forked child is sampled until it pauses itself. To sample only
    a part of a program, pause at its start."""
    if _library is not None:
        _library.sluice_pause_sampling()


def resume_sampling():
    """Ends a pause of sampling."""
    if _library is not None:
        _library.sluice_resume_sampling()


@contextlib.contextmanager
def scope(name):
    """Returns a context manager for a scope: `with sluice.scope("forward"): ...`"""
    push(name)
    try:
        yield
    finally:
        pop()


def _address(thing):
    """Returns the start address of a tensor or array (PyTorch storage, CUDA array interface, `data_ptr`), or a given
    number."""
    if isinstance(thing, int):
        return thing
    storage = getattr(thing, "untyped_storage", None)
    if storage is not None:
        return storage().data_ptr()
    interface = getattr(thing, "__cuda_array_interface__", None)
    if interface is not None:
        return interface["data"][0]
    if hasattr(thing, "data_ptr"):
        return thing.data_ptr()
    raise TypeError(f"sluice.tag: {type(thing).__name__} is not a tensor, CUDA array or address")


def tag(thing, category=None, name=None):
    """Sets the category and name of the block that contains `thing`. Categories: "weight", "gradient",
    "optimizer state", "activation", "input", "workspace". Tags end when the block is freed."""
    if _library is not None:
        _library.sluice_tag(_address(thing), _text(category), _text(name))


def _on_device(thing):
    return thing is not None and getattr(thing, "is_cuda", False)


def tag_model(model, optimizer=None):
    """Tags a torch.nn.Module: parameters and buffers as weights, gradients when they are accumulated, and the
    optimizer's state after each of its steps. Registers hooks on both. The hooks cost a few microseconds per parameter
    and step while recording, and nothing otherwise."""
    if _library is None:
        return
    names = {}
    for name, parameter in model.named_parameters():
        names[id(parameter)] = name
        if not _on_device(parameter):
            continue
        tag(parameter, "weight", name)
        if _on_device(parameter.grad):
            tag(parameter.grad, "gradient", name)
        if parameter.requires_grad and hasattr(parameter, "register_post_accumulate_grad_hook"):
            parameter.register_post_accumulate_grad_hook(_tag_gradient(name))
    for name, buffer in model.named_buffers():
        if _on_device(buffer):
            tag(buffer, "weight", name)
    if optimizer is not None:
        known = {}
        _tag_state(optimizer, names, known)
        optimizer.register_step_post_hook(lambda which, *_: _tag_state(which, names, known))


def _tag_gradient(name):
    def accumulated(parameter):
        if _on_device(parameter.grad):
            tag(parameter.grad, "gradient", name)

    return accumulated


def _tag_state(optimizer, names, known):
    """Tags the optimizer's state. `known` contains the addresses already tagged, because the state rarely moves."""
    for parameter, state in optimizer.state.items():
        for key, value in state.items() if hasattr(state, "items") else ():
            if not _on_device(value):
                continue
            address = _address(value)
            if known.get((id(parameter), key)) != address:
                known[(id(parameter), key)] = address
                tag(address, "optimizer state", f"{names.get(id(parameter), 'parameter')}.{key}")


def block_alloc(address, nbytes, allocator, device=0):
    """Records that your own pool has allocated a block from its device memory."""
    if _library is not None:
        _library.sluice_block_alloc(address, nbytes, device, _text(allocator))


def block_free(address):
    """Records that the block is freed. Call this before the address can be reused."""
    if _library is not None:
        _library.sluice_block_free(address)


def watch_cupy():
    """Records each block of CuPy's memory pool. Without it, only the pool's segments are recorded. CuPy's memory hooks
    are per thread: call this in each thread that uses CuPy. A second call in a thread does nothing."""
    if _library is None:
        return
    import cupy
    from cupy.cuda import memory_hook

    class Watch(cupy.cuda.MemoryHook):
        name = "sluice"

        def malloc_postprocess(self, **call):
            if call["mem_ptr"]:
                block_alloc(call["mem_ptr"], call["mem_size"], "CuPy", call["device_id"])

        def free_preprocess(self, **call):
            block_free(call["mem_ptr"])

    if Watch.name not in memory_hook.get_memory_hooks():
        Watch().__enter__()


def _current_device():
    """Returns the CUDA device number of the calling thread; 0 if unknown."""
    number = ctypes.c_int(0)
    try:
        ctypes.CDLL("libcuda.so.1").cuCtxGetDevice(ctypes.byref(number))
    except (AttributeError, OSError):
        pass
    return number.value


_watching = []  # Resources created by `watch_rmm`.


def watch_rmm():
    """Records each block of RMM's current device resource by wrapping it. Call this after you have set your resource.
    A second call for the same resource does nothing."""
    if _library is None:
        return
    import rmm

    below = rmm.mr.get_current_device_resource()
    if any(below is each for each in _watching):
        return
    device = _current_device()

    def allocate(nbytes, *stream):
        address = below.allocate(nbytes, *stream)
        block_alloc(address, nbytes, "RMM", device)
        return address

    def deallocate(address, nbytes, *stream):
        block_free(address)
        below.deallocate(address, nbytes, *stream)

    watching = rmm.mr.CallbackMemoryResource(allocate, deallocate)
    _watching.append(watching)
    rmm.mr.set_current_device_resource(watching)


def _program():
    """Returns the path of the program that this file belongs to, as placed by pip, by an installation, or by a
    build."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in ("bin/sluice", "../../../bin/sluice", "../sluice"):
        found = os.path.join(here, path)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return os.path.realpath(found)
    sys.exit(f"sluice: the program is not beside {here}; install Sluice again")


def _run():
    """Replaces this process with the program `sluice` and the same arguments."""
    program = _program()
    os.execv(program, ["sluice", *sys.argv[1:]])


if __name__ == "__main__":
    _run()
