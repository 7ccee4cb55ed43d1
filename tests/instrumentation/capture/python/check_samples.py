"""Checks the sampler of Python frames: check_samples.py LIBRARY places|churn|pause|restart|refused [SECONDS]. Each installed Python
runs this script. Prints what is wrong. The exit status is the number of faults."""
import ctypes
import gc
import os
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])
library.sample_start.argtypes = [ctypes.c_uint, ctypes.c_bool]
library.sample_stop.restype = ctypes.c_bool
library.sample_count.restype = ctypes.c_size_t
library.sample_messages.restype = ctypes.c_char_p
library.sample_text.restype = ctypes.c_bool
library.sample_text.argtypes = [ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
NS = 1000000000
THIS_FILE = os.path.abspath(__file__)
faults = 0
arrived = threading.Event()


def fail(what):
    global faults
    faults += 1
    if faults < 20:
        print("WRONG: %s" % what, flush=True)


def tid():
    return threading.get_native_id()


class Sample:
    def __init__(self, text):
        head, *frames = text.splitlines()
        self.time, self.tid = (int(word) for word in head.split("\t"))
        self.frames = []
        for line in frames:
            function, file, number, entry = line.split("\t")
            self.frames.append((function.rsplit(".", 1)[-1], file, int(number), entry == "1"))
        self.names = [frame[0] for frame in self.frames]


def samples():
    buffer = ctypes.create_string_buffer(1 << 18)
    found = []
    for i in range(library.sample_count()):
        if library.sample_text(i, buffer, len(buffer)):
            found.append(Sample(buffer.value.decode("utf-8")))
        else:
            fail("sample %d has unknown frames" % i)
    return found


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


# --- three threads in known functions ---------------------------------------------------------------------------------

def busy_leaf(until):
    while now() < until:
        pass  # the busy line


def busy(until):
    busy_leaf(until)  # the call of the busy line


def waits(event):
    arrived.set()
    event.wait(60)


def nested_wait(depth, event):
    if depth == 0:
        waits(event)
    else:
        nested_wait(depth - 1, event)


def generating(until):
    while now() < until:
        yield 1


def consume(until):
    for _ in generating(until):
        sum(range(50))


def line_with(comment):
    with open(THIS_FILE) as source:
        for number, line in enumerate(source, 1):
            if line.rstrip().endswith("# " + comment):
                return number
    return 0


def expect_all(found, thread, inner, outer, what, most=0.0):
    """All but a share `most` of the thread's samples contain one of `inner`, then all of `outer`, in this order."""
    own = [s for s in found if s.tid == thread]
    if len(own) < 20:
        fail("%s: only %d samples" % (what, len(own)))
    wrong = 0
    for sample in own:
        names = [name for name in sample.names if name in inner or name in outer]
        if names[-len(outer):] != outer or (len(names) > len(outer) and names[0] not in inner):
            wrong += 1
            shown = sample.names
    if wrong > most * len(own):
        fail("%s: %d of %d samples, such as %r" % (what, wrong, len(own), shown))
    return own


def places():
    event = threading.Event()
    ids = {}

    def thread_of(name, function, *arguments):
        def work():
            ids[name] = tid()
            started.release()
            go.wait()
            function(*arguments)
        return threading.Thread(target=work)

    started, go = threading.Semaphore(0), threading.Event()
    until = now() + 2 * NS
    threads = [thread_of("busy", busy, until), thread_of("waits", nested_wait, 150, event),
               thread_of("generator", consume, until)]
    for thread in threads:
        thread.start()
    for _ in threads:
        started.acquire()
    go.set()
    arrived.wait()
    time.sleep(0.1)
    begin = now()
    library.sample_start(500, True)
    time.sleep(1.2)
    if not library.sample_stop():
        fail("the sampler did not stop")
    end = now()
    event.set()
    for thread in threads:
        thread.join()
    found = samples()
    if any(not begin <= s.time <= end for s in found):
        fail("a time outside the sampling")
    own = expect_all(found, ids["busy"], ["busy_leaf"], ["busy", "work"], "busy")
    allowed = {"busy_leaf": range(line_with("the busy line") - 1, line_with("the busy line") + 1),
               "busy": [line_with("the call of the busy line")]}
    for sample in own:
        for name, file, line, _ in sample.frames:
            if os.path.basename(file) == os.path.basename(THIS_FILE) and name in allowed and line not in allowed[name]:
                fail("%s at line %d" % (name, line))
    for sample in expect_all(found, ids["waits"], ["nested_wait"], ["work"], "waits"):
        if sample.names.count("nested_wait") != 151 or "waits" not in sample.names:
            fail("a stack of the thread that waits has %d frames" % len(sample.names))
    if len([s for s in found if s.tid == ids["waits"]]) > 200:
        fail("an unchanged stack is sent at each look")
    expect_all(found, ids["generator"], ["generating"], ["consume", "work"], "a generator")
    print("%d samples of %d threads; %s" % (len(found), len({s.tid for s in found}), library.sample_messages().decode()))


# --- code objects, threads and generators come and go -----------------------------------------------------------------

def marked_source(i):
    """Functions whose names say which one calls which: any stack of f_I must be f_I, g_I, outer_I."""
    return ("def f_{0}(n):\n" + "    x = 0\n" * (i % 7) + "    while n: n -= 1\n"
            "def g_{0}():\n    f_{0}({1})\ndef outer_{0}():\n    g_{0}()\nouter_{0}()\n").format(i, 2000 + i % 2000)


def compiling(until):
    i = threading.get_ident() % 1000
    while now() < until:
        i += 1
        exec(compile(marked_source(i), "made_%d.py" % (i % 3), "exec"), {})


def recursing(until):
    def deeper(n):
        return n if n == 0 else deeper(n - 1) + 1

    while now() < until:
        deeper(int(now() % 400))


def left(n):
    return right(n - 1) if n > 0 else 0


def right(n):
    return left(n - 1) if n > 0 else 0


def calling(until):
    while now() < until:
        left(6)
        right(3)


def switching(until):
    def worker():
        while True:
            yield from inner()

    def inner():
        for _ in range(5):
            yield 1

    workers = [worker() for _ in range(10)]
    while now() < until:
        for w in workers:
            next(w)
        workers[int(now()) % 10] = worker()


def spawning(until):
    while now() < until:
        few = [threading.Thread(target=compiling, args=(min(until, now() + 3000000),)) for _ in range(4)]
        for thread in few:
            thread.start()
        for thread in few:
            thread.join()
        gc.collect(0)


def check_marked(sample):
    """Returns 1 if the stack has marked functions, 0 if not, -1 if it never was: a stack mixed from two moments has the
    functions of different sources, or in a wrong order. These functions last longer than a read, but the reader may
    lose its CPU during a read."""
    marked = [name for name in sample.names if name.startswith(("f_", "g_", "outer_"))]
    if not marked:
        return 0
    numbers = {name.rsplit("_", 1)[1] for name in marked}
    kinds = [name.rsplit("_", 1)[0] for name in marked]
    if len(numbers) != 1 or kinds != ["f", "g", "outer"][-len(kinds):]:
        return -1
    return 1


def calls(sample):
    return [name for name in sample.names if name in ("left", "right")]


def never_was(sample):
    """left calls only right, right only left."""
    names = calls(sample)
    return any(a == b for a, b in zip(names, names[1:]))


def churn(seconds):
    until = now() + int(seconds * NS)
    library.sample_start(2000, True)
    threads = [threading.Thread(target=target, args=(until,))
               for target in (compiling, recursing, calling, switching, spawning)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not library.sample_stop():
        fail("the sampler did not stop")
    found = samples()
    marks = [(check_marked(s), s) for s in found]
    marked = sum(mark != 0 for mark, _ in marks)
    torn = [s for mark, s in marks if mark < 0]
    if len(torn) > 0.03 * marked:
        fail("%d of %d stacks of marked functions never were, such as %r" % (len(torn), marked, torn[0].names))
    called = sum(len(calls(s)) > 0 for s in found)
    mixed = [s for s in found if never_was(s)]
    # These calls are shorter than a read, so some mixed stacks are not noticed: up to 0.6 % on 16 cores.
    if len(mixed) > 0.03 * called:
        fail("%d of %d stacks of short calls never were, such as %r" % (len(mixed), called, mixed[0].names))
    if marked < 5 or called < 20:
        fail("only %d stacks of marked functions, and %d of calls" % (marked, called))
    print("%d samples, %d of %d threads of marked functions, %d of calls, %d of them mixed; %s" %
          (len(found), marked, len({s.tid for s in found}), called, len(mixed), library.sample_messages().decode()))


def waits_first(event):
    event.wait(60)


def waits_second(event):
    event.wait(60)


def pause():
    """A thread that waits is looked at rarely. In a pause it goes on to another function, whose frame has the address of
    the one before."""
    first, second = threading.Event(), threading.Event()

    def work():
        waits_first(first)
        waits_second(second)

    thread = threading.Thread(target=work)
    thread.start()
    library.sample_start(500, True)
    time.sleep(0.4)
    library.sample_pause(True)
    time.sleep(0.1)
    begin = now()
    first.set()
    time.sleep(0.3)
    end = now()
    library.sample_pause(False)
    time.sleep(0.3)
    library.sample_stop()
    second.set()
    thread.join()
    found = [s for s in samples() if s.tid == thread.native_id]
    if any(begin <= s.time < end for s in found):
        fail("samples in the pause")
    for name, own in (("waits_first", [s for s in found if s.time < begin]), ("waits_second", [s for s in found if s.time >= end])):
        if len(own) < 5 or any(name not in s.names for s in own):
            fail("%s: %r" % (name, [s.names for s in own]))
    print("paused")


def restart():
    for _ in range(20):
        library.sample_start(1000, True)
        library.sample_start(1000, True)  # Does nothing.
        time.sleep(0.01)
        before = library.sample_count()
        if not library.sample_stop() or not library.sample_stop():
            fail("the sampler did not stop")
    after = library.sample_count()
    time.sleep(0.05)
    if after == 0 or library.sample_count() != after:
        fail("samples after the end: %d, %d, %d" % (before, after, library.sample_count()))
    library.sample_start(1000, False)  # And left running to the interpreter's end.
    print("restarted")


# --- without permission -----------------------------------------------------------------------------------------------

def refuse_system_call(number):
    """Makes this system call fail with EPERM from now on, as seccomp profiles of containers do."""
    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("value", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(Instruction))]

    load_number, jump_if_equal, answer = 0x20, 0x15, 0x06
    permit, refuse_with_eperm = 0x7FFF0000, 0x00050001
    instructions = (Instruction * 4)((load_number, 0, 0, 0), (jump_if_equal, 0, 1, number),
                                     (answer, 0, 0, refuse_with_eperm), (answer, 0, 0, permit))
    program = Program(4, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    return (libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0 and
            libc.prctl(set_seccomp, filter_mode, ctypes.byref(program), 0, 0) == 0)


def refused():
    if os.uname().machine != "x86_64":
        print("process_vm_readv is refused: not tested on this machine")
        return
    if not refuse_system_call(310):  # process_vm_readv
        fail("the filter was not set")
    for _ in range(3):
        library.sample_start(500, True)
    time.sleep(0.05)
    if library.sample_count() != 0 or library.sample_threads() != 0:
        fail("samples nevertheless")
    said = library.sample_messages().decode()
    if said.count("process_vm_readv is refused") != 1:
        fail("said %r" % said)
    print(said)


command = sys.argv[2]
if command == "places":
    places()
elif command == "churn":
    churn(float(sys.argv[3]) if len(sys.argv) > 3 else 10)
elif command == "refused":
    refused()
elif command == "pause":
    pause()
else:
    restart()
sys.exit(min(faults, 100))
