#!/usr/bin/env python3
"""Exchanges arrays with other libraries by DLPack and the CUDA array interface. No copy may be made, and each deleter
must be called exactly once.

    check_interchange.py LIBRARY [--alone]     LIBRARY: libsluice_interchange.so

First, the script's own producer, which counts calls, is the other library (also on the simulated device). Then, unless
--alone is given, CuPy and PyTorch are, on the GPU. Prints its results, and "all as expected" or the deviations.
"""
import argparse
import ctypes
import gc
import os
import sys
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("--alone", action="store_true")
options = parser.parse_args()
os.environ["SLUICE_INTERCHANGE_LIBRARY"] = os.path.abspath(options.library)
for folder in (os.path.join(HERE, "..", "..", "instrumentation", "runtime", "interchange"), HERE):
    sys.path.insert(0, folder)
import sluice_arrays  # noqa: E402

wrong = []


def expect(holds, what):
    print(("ok     " if holds else "WRONG  ") + what)
    if not holds:
        wrong.append(what)


def refused(what, action, *words):
    try:
        action()
        expect(False, f"{what} is refused")
    except (ValueError, BufferError) as error:
        expect(all(word in str(error) for word in words), f"{what} is refused: {error}")


# The script's own producer --------------------------------------------------------------------------------------------

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Unversioned(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", Deleter),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Producer:
    """Exports the memory of `array` as another library would, and counts the calls of its deleter."""

    def __init__(self, array, versioned, **changes):
        self.deleted = 0
        self.array = array
        self.shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
        self.managed = Versioned(major=1) if versioned else Unversioned()
        self.deleter = Deleter(self.delete)
        self.managed.deleter = self.deleter
        tensor = self.managed.tensor
        tensor.data, tensor.device_type, tensor.device_id = array.data, *array.__dlpack_device__()
        tensor.ndim, tensor.shape, tensor.code, tensor.bits, tensor.lanes = len(array.shape), self.shape, 0, 32, 1
        for name, value in changes.items():
            setattr(tensor, name, value)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def delete(self, _):
        self.deleted += 1

    def capsule(self):
        destructor = ctypes.cast(sluice_arrays._library.sluice_dlpack_capsule_destructor, ctypes.c_void_p)
        return sluice_arrays._python.PyCapsule_New(ctypes.addressof(self.managed), self.name, destructor)


def check_alone():
    memory = sluice_arrays.empty((4, 5), "int32")
    for versioned in (False, True):
        kind = "versioned" if versioned else "unversioned"
        producer = Producer(memory, versioned)
        capsule = producer.capsule()
        taken = sluice_arrays.from_capsule(capsule)
        expect(taken.data == memory.data and taken.shape == (4, 5), f"{kind}: taken over without a copy")
        refused(f"{kind}: a capsule that has been used", lambda: sluice_arrays.from_capsule(capsule), "has been used")
        del capsule
        gc.collect()
        expect(producer.deleted == 0, f"{kind}: the used capsule's destructor does not delete the tensor")
        again = sluice_arrays.from_capsule(taken.__dlpack__(max_version=(1, 0) if versioned else None))
        taken.release()
        expect(producer.deleted == 0 and again.data == memory.data, f"{kind}: an array made from an array keeps the tensor")
        again.release()
        expect(producer.deleted == 1, f"{kind}: deleter called once: {producer.deleted}")

        unclaimed = Producer(memory, versioned)
        capsule = unclaimed.capsule()
        del capsule
        gc.collect()
        expect(unclaimed.deleted == 1, f"{kind}: a capsule without a consumer deletes its tensor once: {unclaimed.deleted}")

        hostile = Producer(memory, versioned, ndim=-1)
        capsule = hostile.capsule()
        refused(f"{kind}: a tensor of -1 axes", lambda: sluice_arrays.from_capsule(capsule), "-1 axes")
        expect(hostile.deleted == 0, f"{kind}: a refused tensor stays with its owner")
        del capsule
        gc.collect()
        expect(hostile.deleted == 1, f"{kind}: the owner deletes the refused tensor once: {hostile.deleted}")
    refused("lanes", lambda: sluice_arrays.from_capsule(Producer(memory, True, lanes=4).capsule()), "4 lanes")
    refused("a null pointer", lambda: sluice_arrays.from_capsule(Producer(memory, True, data=None).capsule()), "null")
    refused("memory that does not exist", lambda: sluice_arrays.from_capsule(Producer(memory, True, data=4096).capsule()), "unowned_buffer")
    viewed = sluice_arrays.from_cai(memory)
    expect(viewed.data == memory.data, "the CUDA array interface: no copy")

    class Changed:
        def __init__(self, **changes):
            self.__cuda_array_interface__ = {**memory.__cuda_array_interface__, **changes}
    refused("stream 0", lambda: sluice_arrays.from_cai(Changed(stream=0)), "legacy")
    refused("a mask", lambda: sluice_arrays.from_cai(Changed(mask=1)), "masked")
    refused("big endian elements", lambda: sluice_arrays.from_cai(Changed(typestr=">i4")), "little-endian")
    expect(sluice_arrays.from_cai(Changed(data=(memory.data, True))).read_only, "read-only is kept")
    expect(sluice_arrays.from_cai(Changed(stream=None, strides=None)).shape == (4, 5), "no stream, no strides")

    # The source is freed with the last object made from it, no matter which library holds that object.
    for versioned in (False, True):
        kind = "versioned" if versioned else "unversioned"
        source = Changed()
        alive = weakref.ref(source)
        taken = sluice_arrays.from_cai(source)
        capsule = taken.__dlpack__(max_version=(1, 0) if versioned else None)
        del source, taken
        gc.collect()
        expect(alive() is not None, f"{kind}: a tensor made from an array of the CUDA array interface keeps its source")
        share = sluice_arrays.from_capsule(capsule)
        del capsule
        expect(alive() is not None and share.data == memory.data, f"{kind}: the consumer of that tensor keeps the source, too")
        share.release()
        expect(alive() is None, f"{kind}: the source is freed with the last array")
        source = Changed()
        alive = weakref.ref(source)
        capsule = sluice_arrays.from_cai(source).__dlpack__(max_version=(1, 0) if versioned else None)
        del source
        gc.collect()
        expect(alive() is not None, f"{kind}: a capsule without a consumer keeps the source")
        del capsule
        gc.collect()
        expect(alive() is None, f"{kind}: until it goes")
    source = Changed(stream=0)
    alive = weakref.ref(source)
    refused("stream 0 again", lambda: sluice_arrays.from_cai(source), "legacy")
    del source
    gc.collect()
    expect(alive() is None, "a refused source is not kept")


# CuPy and PyTorch ------------------------------------------------------------------------------------------------------------------------

def check_torch():
    import torch
    before = torch.cuda.memory_allocated()
    tensor = torch.arange(1 << 20, dtype=torch.int32, device="cuda").reshape(1024, 1024)
    pointer = tensor.data_ptr()
    a = sluice_arrays.from_dlpack(tensor)
    expect(a.data == pointer and a.shape == (1024, 1024) and a.dtype == "int32", "torch -> sluice: no copy")
    a.affine(3, 1)
    expect(tensor[1, 1].item() == 3 * 1025 + 1, "torch -> sluice: our kernel's result is in the tensor")
    transposed = sluice_arrays.from_dlpack(tensor.t())
    expect(transposed.strides == (1, 1024), "torch -> sluice: strides of a transposed tensor")
    del tensor
    gc.collect()
    expect(torch.cuda.memory_allocated() == before + (4 << 20), "torch -> sluice: the memory lives as long as our array")
    a.release()
    expect(torch.cuda.memory_allocated() == before + (4 << 20), "torch -> sluice: the memory lives as long as the other array in it")
    transposed.release()
    gc.collect()
    expect(torch.cuda.memory_allocated() == before, "torch -> sluice: then the memory returns to torch, once")

    ours = sluice_arrays.empty((1 << 26,), "int32")
    pointer = ours.data
    for versioned in (False, True):
        if versioned:
            theirs = torch.from_dlpack(ours)
        else:
            theirs = torch.utils.dlpack.from_dlpack(ours.__dlpack__(stream=None))
        expect(theirs.data_ptr() == pointer, f"sluice -> torch, {'from_dlpack' if versioned else 'unversioned capsule'}: no copy")
    theirs.fill_(7)
    ours.affine(2, 0)
    with torch.cuda.stream(torch.cuda.Stream()):
        on_stream = torch.from_dlpack(ours)
        expect(on_stream[-1].item() == 14, "sluice -> torch: a tensor made on another stream waits for our kernel")
    del on_stream
    ours.release()
    expect(theirs[123].item() == 14, "sluice -> torch: the memory lives as long as the tensor")
    free = torch.cuda.mem_get_info()[0]
    del theirs
    gc.collect()
    expect(torch.cuda.mem_get_info()[0] - free >= 1 << 28, "sluice -> torch: the memory is freed with the tensor")
    view = torch.as_tensor(sluice_arrays.empty((3, 4), "float32"), device="cuda")
    expect(view.shape == (3, 4), "sluice -> torch by the CUDA array interface")
    shown = sluice_arrays.from_cai(torch.ones(5, 6, device="cuda"))
    expect(shown.shape == (5, 6) and shown.dtype == "float32", "torch -> sluice by the CUDA array interface")
    refused("a tensor in host memory", lambda: sluice_arrays.from_capsule(torch.ones(3).__dlpack__()), "ordinary host memory")
    half = sluice_arrays.from_dlpack(torch.ones(8, dtype=torch.bfloat16, device="cuda"))
    expect(half.dtype == "bfloat16" and torch.from_dlpack(half).sum().item() == 8, "bfloat16 there and back")


def check_cupy():
    import cupy
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.used_bytes()
    array = cupy.arange(1 << 20, dtype=cupy.uint32).reshape(1024, 1024)
    pointer = array.data.ptr
    a, c = sluice_arrays.from_dlpack(array), sluice_arrays.from_cai(array)
    expect(a.data == pointer and c.data == pointer and a.shape == (1024, 1024), "cupy -> sluice: no copy, by both ways")
    a.affine(3, 1)
    sluice_arrays.synchronize()
    expect(int(array[1, 1]) == 3 * 1025 + 1, "cupy -> sluice: our kernel's result is in the array")
    part = sluice_arrays.from_dlpack(array[::2, 1:7:3])
    expect(part.shape == (512, 2) and part.strides == (2048, 3) and part.data == pointer + 4, "cupy -> sluice: a slice with steps")
    del array
    gc.collect()
    expect(pool.used_bytes() == before + (4 << 20), "cupy -> sluice: the memory lives as long as our arrays")
    for share in (a, c, part):
        share.release()
    del share
    gc.collect()
    expect(pool.used_bytes() == before, "cupy -> sluice: then the memory returns to cupy, once")

    source = cupy.full(1 << 20, 7, dtype="i4")
    theirs = cupy.from_dlpack(sluice_arrays.from_cai(source))
    del source
    gc.collect()
    beside = cupy.full(1 << 20, 9, dtype="i4")
    cupy.cuda.Device().synchronize()
    expect(int(theirs[0]) == 7 and beside.data.ptr != theirs.data.ptr,
           "cupy -> sluice -> cupy, in by the CUDA array interface and out by DLPack: the memory is not reused")
    del theirs, beside

    ours = sluice_arrays.empty((1 << 26,), "uint32")
    pointer = ours.data
    theirs, shown = cupy.from_dlpack(ours), cupy.asarray(ours)
    expect(theirs.data.ptr == pointer and shown.data.ptr == pointer, "sluice -> cupy: no copy, by both ways")
    theirs.fill(7)
    cupy.cuda.Device().synchronize()
    ours.affine(2, 0)
    with cupy.cuda.Stream(non_blocking=True):
        expect(int(cupy.from_dlpack(ours)[-1]) == 14, "sluice -> cupy: an array made on another stream waits for our kernel")
        expect(int(cupy.asarray(ours)[-1]) == 14, "sluice -> cupy: an array by the CUDA array interface waits, too")
    free = cupy.cuda.runtime.memGetInfo()[0]
    del shown
    ours.release()
    gc.collect()
    expect(int(theirs[123]) == 14, "sluice -> cupy: the memory lives as long as the array")
    del theirs
    gc.collect()
    expect(cupy.cuda.runtime.memGetInfo()[0] - free >= 1 << 28, "sluice -> cupy: the memory is freed with the array")
    managed = cupy.ndarray((1000,), cupy.uint32, cupy.cuda.malloc_managed(4000))
    expect(sluice_arrays.from_cai(managed).__dlpack_device__()[0] == 13, "cupy's managed memory is seen as managed")


check_alone()
if not options.alone:
    check_torch()
    check_cupy()
print("all as expected" if not wrong else f"{len(wrong)} not as expected:\n  " + "\n  ".join(wrong))
sys.exit(1 if wrong else 0)
