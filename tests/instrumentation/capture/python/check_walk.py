"""Compares the raw walk of the interpreter's frames with traceback: check_walk.py LIBRARY. Each installed Python runs
this script. Prints the differences. The exit status is their number."""
import asyncio
import atexit
import concurrent.futures
import ctypes
import functools
import itertools
import os
import sys
import threading
import traceback

library_path = sys.argv[1]
holding = ctypes.PyDLL(library_path)  # Calls with the GIL held.
releasing = ctypes.CDLL(library_path)  # Calls without the GIL.
holding.walk_prepare.restype = ctypes.c_char_p
for library in (holding, releasing):
    library.walk.restype = library.walk_on_a_thread.restype = ctypes.c_size_t
    library.walk.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
MOST = 256
complaint = holding.walk_prepare().decode()
differences = 0
compared = 0
count_lock = threading.Lock()


def fail(what, details=""):
    global differences
    with count_lock:
        differences += 1
        if differences < 20:
            print("DIFFERS: %s\n%s" % (what, details), flush=True)


def walked(buffer):
    rows = []
    for line in buffer.value.decode("utf-8").splitlines():
        function, file, number, entry = line.split("\t")
        rows.append((function, file, int(number)))
    return rows



def without_surrogates(text):
    return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)


def names_of_stack():
    """Returns the qualified names of the caller's frames, innermost first, if this Python version has them."""
    frames = itertools.islice(traceback.walk_stack(sys._getframe(1)), MOST)
    return [getattr(frame.f_code, "co_qualname", frame.f_code.co_name) for frame, line in frames]


def both(what="", library=releasing):
    """Compares the walk and the traceback, which are taken on the same line of this function."""
    global compared
    if complaint:
        return None
    buffer = ctypes.create_string_buffer(1 << 17)
    count, said = library.walk(buffer, 1 << 17), traceback.extract_stack(limit=MOST)
    found = walked(buffer)
    names = names_of_stack()
    expected = [(without_surrogates(name), without_surrogates(f.filename), f.lineno or 0)
                for name, f in zip(names, reversed(said))]
    with count_lock:
        compared += 1
    if found != expected or count != len(expected):
        for i, (a, b) in enumerate(zip(found + [None] * len(expected), expected + [None] * len(found))):
            if a != b:
                return fail(what, "  frame %d: walked %r, traceback %r" % (i, a, b))
    return count


def nested(depth):
    if depth == 0:
        return both("nested")
    return nested(depth - 1)


def generator(n):
    for i in range(n):
        both("generator")
        yield i
    yield from generator(n - 1) if n else ()


class Manager:
    def __enter__(self):
        both("enter")
        return self

    def __exit__(self, *ignored):
        both("exit")


class Built:
    both("class body")

    def __init__(self):
        self.count = both("init")

    @property
    def value(self):
        return both("property")

    def __call__(self, *ignored):
        return both("call")

    def __del__(self):
        both("del")


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)
    return wrapper


@decorated
@decorated
def behind_decorators():
    return both("decorators")


def over_several_lines(
    first,
    second,
):
    value = first + (
        both("a call over several lines")
        if second
        else 0
    )
    try:
        raise ValueError(
            both("in a raise"))
    except ValueError:
        both("in an except")
    finally:
        both("in a finally")
    with Manager() as one, \
            Manager():
        both("in a with")
    return value


async def coroutine(n):
    both("coroutine")
    await asyncio.sleep(0)
    both("coroutine, resumed")
    async for _ in async_generator(2):
        both("async for")
    if n:
        await coroutine(n - 1)


async def async_generator(n):
    for i in range(n):
        both("async generator")
        yield i


def simple_things():
    both("the GIL held", holding)
    nested(0)
    nested(20)
    (lambda: both("lambda"))()
    [both("list comprehension") for _ in range(3)]
    {both("set comprehension") for _ in range(3)}
    {i: both("dict comprehension") for i in range(3)}
    list(both("generator expression") for _ in range(3))
    [[both("nested comprehension") for _ in range(2)] for _ in range(2)]
    list(generator(3))
    sorted([3, 1, 2], key=lambda x: both("sort key"))
    list(map(lambda x: both("map"), range(3)))
    functools.partial(both, "partial")()
    functools.reduce(lambda a, b: both("reduce") or 0, range(3))
    behind_decorators()
    over_several_lines(1, True)
    asyncio.run(coroutine(3))
    eval("both('eval')")
    exec("both('exec')\n\n\nboth('exec')")
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: both("callback from C") or 0)
    callback()
    # The loop runs often enough that an adaptive interpreter specializes the calls.
    for _ in range(200):
        built = Built()
        built.value
        built(1)
        del built
        nested(3)


def long_function():
    """Tests line tables with long jumps: hundreds of lines, and line deltas that do not fit into a byte."""
    body = ["def far():", "    total = 0"]
    for i in range(400):
        body.append("    total += %d" % i)
    body.append("    both('far down')")
    body += [""] * 1000
    body.append("    both('further down')")
    body.append("    x = [" + "0," * 5)
    body += ["        0,"] * 300
    body.append("        both('in a long list')]")
    body.append("    return both('at the end'), [" + ", ".join("total" for _ in range(2000)) + "]")
    scope = {"both": both}
    exec(compile("\n".join(body), "far.py", "exec"), scope)
    scope["far"]()


def recursion():
    sys.setrecursionlimit(5000)
    nested(1000)
    nested(260)


def reused_addresses():
    """Creates and frees code objects. Cached data of a code object must not be used for the next one at its address."""
    for i in range(1000):
        source = "\n" * (i % 13) + "def f%d():\n" % (i % 3) + "\n" * (i % 7) + "    return both('reused')\n"
        scope = {"both": both}
        exec(compile(source, "generated-%d.py" % (i % 11), "exec"), scope)
        scope["f%d" % (i % 3)]()
        del scope
    # This code has the same file, function and first line, but a different line at the same instruction.
    for i in range(1000):
        scope = {"both": both}
        exec(compile("def f():\n" + "\n" * (i % 5) + "    both('same name')\n    return 1\n", "cell.py", "exec"), scope)
        scope["f"]()
        del scope


def unicode_names():
    for name, file in (("größe", "straße.py"), ("値", "データ.py"), ("ж", "путь/😀.py"), ("e", "bad-\udc80.py"),
                       ("a" * 300, "d/" * 400 + "x.py")):
        scope = {"both": both}
        exec(compile("def %s():\n    both('unicode')\n" % name, file, "exec"), scope)
        scope[name]()


def threads():
    def work(n):
        for i in range(50):
            nested(i % 10)
            list(generator(2))
        if n:
            inner = threading.Thread(target=work, args=(n - 1,))
            inner.start()
            inner.join()
    sys.setswitchinterval(1e-5)
    running = [threading.Thread(target=work, args=(2,)) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: nested(i % 5), range(100)))
    sys.setswitchinterval(0.005)


def side_by_side():
    """Runs the same code on several threads at once. Without the GIL, each thread runs its own copy."""
    running = [threading.Thread(target=simple_things) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def in_a_child():
    child = os.fork()
    if child == 0:
        before = differences
        nested(5)
        os._exit(1 if differences != before else 0)
    if os.waitpid(child, 0)[1] != 0:
        fail("in a fork's child")


def on_threads_of_c():
    """Tests threads that enter and leave Python repeatedly, as library threads do, also nested."""
    enter = ctypes.CFUNCTYPE(None)

    def run(depth):
        both("on a thread of C")
        if depth and releasing.walk_on_a_thread(enter(lambda: run(depth - 1))) != 0:
            fail("frames outside of Python, on a thread of C")
        both("on a thread of C, again")

    run(3)


def in_pytorch():
    """Tests a backward pass, which runs on a C++ thread that enters Python for functions like this one."""
    try:
        import torch
    except ImportError:
        return

    class Checked(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            both("forward")
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            both("backward")
            return gradient

    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        x = torch.ones(4, device=device, requires_grad=True)
        x.register_hook(lambda gradient: both("hook") and None)
        for _ in range(50):
            Checked.apply(x).sum().backward()
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)).to(device)
        model.register_forward_hook(lambda *ignored: both("forward hook") and None)
        optimizer = torch.optim.Adam(model.parameters())
        optimizer.register_step_post_hook(lambda *ignored: both("step hook") and None)
        for _ in range(10):
            model(x).sum().backward()
            optimizer.step()


def at_the_end():
    buffer = ctypes.create_string_buffer(1 << 17)

    def forever():
        while True:
            releasing.walk(buffer, 1 << 17)
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()


if complaint:
    print(complaint)
    buffer = ctypes.create_string_buffer(1 << 17)
    sys.exit(100 if releasing.walk(buffer, 1 << 17) == 0 else 101)
parts = [simple_things, long_function, recursion, reused_addresses, unicode_names, threads, side_by_side, on_threads_of_c, in_pytorch, in_a_child]
for part in parts:
    before = differences
    part()
    print("%s: %s" % (part.__name__, "%d differ" % (differences - before) if differences != before else "as traceback"))
print("%d stacks compared" % compared)
at_the_end()
sys.exit(min(differences, 99))
