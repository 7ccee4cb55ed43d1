"""A program that calls the driver from Python, as PyTorch's libraries do: program.py HOW."""
import ctypes
import os
import sys
import threading
import time

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


def empty(torch, size):
    return ctypes.c_void_p(torch.fake_torch_empty(ctypes.c_size_t(size)))  # a tensor


def tensors():
    """Threads allocate without the GIL while another thread uses the allocator with it: a recorder that waits for the
    GIL while the allocator's mutex is held would deadlock."""
    releasing, holding = ctypes.CDLL("libc10_cuda.so"), ctypes.PyDLL("libc10_cuda.so")
    for torch in (releasing, holding):
        torch.fake_torch_empty.restype = ctypes.c_void_p

    def allocating():
        for _ in range(300):
            releasing.fake_torch_del(empty(releasing, 512))  # in a thread

    running = [threading.Thread(target=allocating) for _ in range(2)]
    for thread in running:
        thread.start()
    done = 0
    while done < 20 or any(thread.is_alive() for thread in running):
        done += 1
        if done > 20:
            time.sleep(0.001)  # Otherwise a busy machine's writer may fall behind, and the ring would drop events.
        holding.fake_torch_stats()
        holding.fake_torch_del(empty(holding, 1024))  # at the same time
    empty(releasing, 2048)  # the last one


def multiply(torch, size):
    return torch.fake_torch_multiply(ctypes.c_size_t(size))  # the multiplication


def view(torch, size):
    torch.fake_torch_view(ctypes.c_size_t(size))  # the view


def backward():
    """The engine's thread has no Python: 3072 and 6144 are for the two forward lines, 15360 for a view, 768 for a leaf.
    Another thread of the program has its own sequence numbers; and a failed backward pass does not affect others."""
    torch = ctypes.CDLL("libtorch_cpu.so")

    def work(size):
        multiply(torch, size)  # forward
        multiply(torch, 2 * size)  # further
        view(torch, 5 * size)
        return torch.fake_torch_backward(ctypes.c_size_t(size // 4))  # go back

    assert work(1024) == 1  # the first
    thread = threading.Thread(target=work, args=(65536,))
    thread.start()
    thread.join()
    multiply(torch, 0)
    assert torch.fake_torch_backward(ctypes.c_size_t(64)) == 0
    assert work(1048576) == 1  # the last
    torch.fake_torch_train_alone(ctypes.c_size_t(16777216))


initialise()
if "backward" in sys.argv:
    backward()  # backward
    sys.exit()
if "tensors" in sys.argv:
    tensors()  # tensors
    sys.exit()
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        allocate(8192)  # the child's
        os._exit(0)
    os.waitpid(child, 0)
train()  # start
