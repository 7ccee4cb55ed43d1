"""A program that calls the driver from Python, as PyTorch's libraries would: program.py HOW."""
import ctypes
import os
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")  # Calls release the GIL.


def initialise():
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0


def allocate(size):
    address = ctypes.c_uint64()
    status = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))  # the allocation
    return address if status == 0 else None


def copy(address, size):
    data = ctypes.create_string_buffer(size)
    assert cuda.cuMemcpyHtoD_v2(address, data, ctypes.c_size_t(size)) == 0  # the copy


class Model:
    def __init__(self, size):
        self.weights = allocate(size)  # the weights

    def step(self, size):
        copy(self.weights, size)  # the step


def train():
    model = Model(4096)  # the model
    for _ in range(3):
        model.step(1024)  # the loop
    thread = threading.Thread(target=model.step, args=(512,))
    thread.start()
    thread.join()
    assert allocate(1 << 60) is None  # too much


initialise()
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        allocate(8192)  # the child's
        os._exit(0)
    os.waitpid(child, 0)
train()  # start
