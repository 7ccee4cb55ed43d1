#!/usr/bin/env python3
"""Uses Sluice's arrays in CuPy and PyTorch, and their arrays in Sluice. Both sides see the same memory.

    PYTHONPATH=build/release/python python3 instrumentation/runtime/examples/interchange.py
"""
import sluice_arrays

ours = sluice_arrays.empty((4, 8), "int32")
print(f"sluice: {ours.dtype} {ours.shape} at {ours.data:#x}")
again = sluice_arrays.from_dlpack(ours)  # anything with __dlpack__
assert again.data == ours.data
if sluice_arrays.has_cai(ours):  # anything with __cuda_array_interface__
    assert sluice_arrays.from_cai(ours).data == ours.data

try:
    import torch
    tensor = torch.from_dlpack(ours)
    tensor.fill_(14)
    ours.affine(3, 0)  # runs one of Sluice's kernels on memory that the tensor shares
    print("torch: ", tensor[0, 0].item(), "at", hex(tensor.data_ptr()))
except (ImportError, RuntimeError, BufferError) as missing:
    print("torch:  left out:", missing)

try:
    import cupy
    array = cupy.asarray(ours)  # through the CUDA array interface
    array += 1
    print("cupy:  ", int(array[0, 0]), "at", hex(array.data.ptr))
    part = sluice_arrays.from_dlpack(array[::2, 1:])
    print("sluice:", part.shape, "with strides", part.strides, "of cupy's array")
except (ImportError, RuntimeError) as missing:
    print("cupy:   left out:", missing)
