"""A Python program whose main thread waits for locks, for other threads, and for Python's GIL."""
import ctypes
import queue
import threading
import time

import sluice

assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
sluice.mark("connected")  # This thread is recorded from here on; the other threads never are.
free = threading.Lock()
for _ in range(1000):
    with free:
        pass

lock, held = threading.Lock(), threading.Event()


def hold():
    with lock:
        held.set()
        time.sleep(0.05)


holder = threading.Thread(target=hold)
holder.start()
held.wait()
with lock:
    pass
holder.join()

arrives = threading.Event()
items = queue.Queue()


def later():
    time.sleep(0.03)
    arrives.set()
    time.sleep(0.03)
    items.put(1)
    time.sleep(0.03)


sender = threading.Thread(target=later)
sender.start()
arrives.wait()
assert items.get() == 1
sender.join()

done = False


def compute():
    while not done:
        sum(range(100))


other = threading.Thread(target=compute)
other.start()
for _ in range(20):
    time.sleep(0.0001)  # Releases the GIL and waits for it.
done = True
other.join()
