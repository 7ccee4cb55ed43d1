"""A pytest plug-in that fails tests which use too much GPU memory.

    pytest -p sluice_pytest      # with this folder in PYTHONPATH; if pip has installed it, pytest finds it without -p
    sluice record -o run.sluice -- pytest -p sluice_pytest

    @pytest.mark.sluice(max_peak="2GiB", max_growth="1MiB", no_leaks=True)
    def test_training_step(): ...

    def test_epoch(sluice):
        for batch in data:
            sluice.step()
            ...
        assert sluice.peak() < 2 << 30

The numbers come from the statistics of PyTorch, CuPy and JAX, whichever the test has imported. Memory in use when the
test began is subtracted. Before each reading, the devices are synchronized and garbage is collected, so that pending
frees are complete. A test that uses none of the three is not judged, and the summary says so. Under `sluice record`,
each test is a range of the recording, whether it is marked or not.

Needs pytest 6.2 or later.
"""
import contextlib
import gc
import math
import re
import sys

import pytest

try:
    import sluice as recorder
except ImportError:
    recorder = None
if not hasattr(recorder, "push"):  # This is another package with the same name.
    recorder = None

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGTP", start=1):
    _UNITS[_letter] = _UNITS[_letter + "I"] = _UNITS[_letter + "IB"] = 1024**_power
    _UNITS[_letter + "B"] = 1000**_power


def size(value):
    """Converts a size such as 4096, "2GiB" or "1.5 GB" to bytes; KB is 1000 bytes, KiB 1024. Raises ValueError."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < 0 or not math.isfinite(value):
            raise ValueError(f"invalid size {value!r}; expected bytes, or text such as '2GiB'")
        return int(value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value) if isinstance(value, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"invalid size {value!r}; expected bytes, or text such as '2GiB'")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _words(count):
    """A size in the report's format: "1.50 GiB"."""
    if count < 0:
        return "-" + _words(-count)
    power = 0
    while count >= 1024 and power < 5:
        count /= 1024
        power += 1
    digits = 0 if power == 0 or count >= 100 else 1 if count >= 10 else 2
    return f"{count:.{digits}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"


class _Torch:
    """Reads PyTorch's caching allocator. Its peak is exact, because it can be reset."""

    def __init__(self, torch):
        self._cuda = torch.cuda

    def settle(self):
        for device in range(self._cuda.device_count()):
            self._cuda.synchronize(device)

    def begin(self):
        for device in range(self._cuda.device_count()):
            self._cuda.reset_peak_memory_stats(device)

    def read(self):
        return {f"PyTorch, GPU {device}": (self._cuda.memory_allocated(device), self._cuda.max_memory_allocated(device), True)
                for device in range(self._cuda.device_count())}

    @staticmethod
    def find(torch):
        cuda = getattr(torch, "cuda", None)
        # This must not initialize CUDA in a process that has not used CUDA yet.
        return _Torch(torch) if cuda is not None and cuda.is_available() and cuda.is_initialized() else None


class _CuPy:
    """Reads CuPy's default memory pool. The pool keeps no peak, so a hook is used, which sees only this thread."""

    def __init__(self, cupy):
        self._cupy = cupy
        self._pool = cupy.get_default_memory_pool()
        self._peak = None  # The peak is unknown before `begin`.
        self._device = cupy.cuda.Device().id
        watch = self

        class Hook(cupy.cuda.MemoryHook):
            name = "sluice_pytest"

            def malloc_postprocess(self, **call):
                watch._peak = max(watch._peak, watch._pool.used_bytes())

        self._hook = Hook()

    def settle(self):
        self._cupy.cuda.Device().synchronize()

    def begin(self):
        self._peak = self._pool.used_bytes()
        self._hook.__enter__()

    def end(self):
        if self._peak is not None:
            self._hook.__exit__(None, None, None)

    def read(self):
        used = self._pool.used_bytes()
        return {f"CuPy, GPU {self._device}": (used, None if self._peak is None else max(self._peak, used), True)}

    @staticmethod
    def find(cupy):
        return _CuPy(cupy) if cupy.cuda.runtime.getDeviceCount() > 0 else None


class _Jax:
    """Reads JAX's allocator. Its peak cannot be reset. If a test stays below an earlier peak, that peak is only a
    bound."""

    def __init__(self, jax):
        self._jax = jax
        self._before = {}

    def _each(self):
        for device in self._jax.local_devices():
            statistics = device.memory_stats() if device.platform != "cpu" else None
            if statistics and "bytes_in_use" in statistics:
                yield f"JAX, GPU {device.id}", statistics

    def settle(self):
        self._jax.effects_barrier()

    def begin(self):
        self._before = {name: each.get("peak_bytes_in_use", 0) for name, each in self._each()}

    def read(self):
        figures = {}
        for name, each in self._each():
            used = each["bytes_in_use"]
            peak = each.get("peak_bytes_in_use")
            figures[name] = (used, peak, peak is not None and peak > self._before.get(name, 0))
        return figures

    @staticmethod
    def find(jax):
        # Listing the devices would start JAX, which then takes most of the GPU's memory.
        if not getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None):
            return None
        found = _Jax(jax)
        return found if any(True for _ in found._each()) else None


_KNOWN = (("torch", _Torch), ("cupy", _CuPy), ("jax", _Jax))


def _settle(sources):
    """Waits for pending device work, and frees unreferenced objects."""
    gc.collect()  # This precedes the waits: it may free a tensor, and the device must then reach that free.
    for source in sources:
        source.settle()


class Watch:
    """The `sluice` fixture: the GPU memory of one test since its start. Sizes are in bytes."""

    def __init__(self, name):
        self.name = name
        self.reason = ""  #: Why there are no measurements; empty if there are some.
        self._sources = {}
        self._begin = {}
        self._limits = {}
        self._begun = False
        self._final = None

    # Annotations for the recorder; without a recorder they do nothing.
    recording = property(lambda self: recorder is not None and recorder.recording())

    def step(self, number=None):
        """Begins a step: see `sluice.step`."""
        if recorder is not None:
            recorder.step(number)

    def scope(self, name):
        """Returns a context manager for a named range: see `sluice.scope`."""
        return recorder.scope(name) if recorder is not None else contextlib.nullcontext()

    def settle(self):
        """Synchronizes the devices and collects garbage, so that `held` does not count memory with a pending free."""
        self._find()
        _settle(self._sources.values())

    def limit(self, max_peak=None, max_growth=None, no_leaks=None):
        """Sets limits from within the test, like the marker."""
        for key, value in (("max_peak", max_peak), ("max_growth", max_growth)):
            if value is not None:
                self._limits[key] = size(value)
        if no_leaks is not None:
            self._limits["no_leaks"] = bool(no_leaks)

    def peak(self):
        """The test's peak memory, on the device where it is highest; None if unknown."""
        return max((each[1] for each in self._figures().values() if each[1] is not None), default=None)

    def held(self):
        """The memory now in use beyond that at the test's start, after `settle`; None if unknown."""
        self.settle()
        return max((each[0] for each in self._figures().values()), default=None)

    # --- for the plug-in

    def _find(self):
        """Finds libraries that have begun to use a GPU since the last call."""
        problems = []
        for name, kind in _KNOWN:
            module = sys.modules.get(name)
            if module is None or name in self._sources:
                continue
            try:
                source = kind.find(module)
                if source is None:
                    problems.append(f"{name} has used no GPU")
                    continue
                self._sources[name] = source
                if self._begun:  # The test was the first to use it, so nothing was in use before.
                    self._begin.update({key: 0 for key in source.read()})
            except Exception as problem:  # The library is incompatible or incomplete. This is not an error.
                self._sources.pop(name, None)
                problems.append(f"{name}: {type(problem).__name__}: {problem}")
        if self._sources:
            self.reason = ""
        elif problems:
            self.reason = "; ".join(problems)
        else:
            self.reason = "the test has imported none of torch, cupy, jax"

    def _start(self):
        self._find()
        _settle(self._sources.values())
        for source in self._sources.values():
            source.begin()
            self._begin.update({key: each[0] for key, each in source.read().items()})
        self._begun = True

    def _finish(self):
        self.settle()
        self._final = self._figures()

    def _end(self):
        for source in self._sources.values():
            if hasattr(source, "end"):
                source.end()

    def _figures(self):
        """Returns for each device: bytes held now, peak bytes (both relative to the test's start), whether the peak is
        exact."""
        if self._final is not None:
            return self._final
        self._find()
        made = {}
        for source in self._sources.values():
            for key, (used, peak, exact) in source.read().items():
                begin = self._begin.get(key, 0)
                made[key] = (used - begin, None if peak is None else max(peak - begin, used - begin), exact)
        return made

    def _judge(self):
        """Returns (problems, doubts): why the test fails, and what could not be judged."""
        problems, doubts = [], []
        if not self._final:
            return [], [self.reason or "no measurements"]
        for key, (held, peak, exact) in self._final.items():
            limit = self._limits.get("max_peak")
            if limit is not None and peak is None:
                doubts.append(f"max_peak: {key} has no peak, because the test itself imported it")
            elif limit is not None and peak > limit:
                if exact:
                    problems.append(f"max_peak: {key} used up to {_words(peak)}, limit {_words(limit)}")
                else:
                    doubts.append(f"max_peak: {key} had a higher peak before this test; run it first or alone")
            limit = self._limits.get("max_growth")
            if limit is not None and held > limit:
                problems.append(f"max_growth: {key} holds {_words(held)} more after the test, limit {_words(limit)}")
            if self._limits.get("no_leaks") and held > 0:
                problems.append(f"no_leaks: {key} holds {_words(held)} more after the test than before it")
        return problems, doubts


def _limits_of(item):
    """The limits in the markers of a test; the closest marker takes precedence. Raises pytest.UsageError."""
    limits = {}
    known = ("max_peak", "max_growth", "no_leaks")
    for marker in reversed(list(item.iter_markers("sluice"))):
        wrong = sorted(set(marker.kwargs) - set(known))
        if marker.args or wrong:
            what = f"no argument {wrong[0]!r}" if wrong else "no positional arguments"
            raise pytest.UsageError(f"{item.nodeid}: the marker sluice takes {what}; expected {', '.join(known)}")
        for key, value in marker.kwargs.items():
            try:
                limits[key] = bool(value) if key == "no_leaks" else size(value)
            except ValueError as problem:
                raise pytest.UsageError(f"{item.nodeid}: {key}: {problem}") from None
    return limits


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "sluice(max_peak=SIZE, max_growth=SIZE, no_leaks=True): fail the test if its peak GPU memory exceeds max_peak, "
        "if the memory in use grows by more than max_growth, or if it grows at all (no_leaks)")


def pytest_collection_modifyitems(items):
    for item in items:  # This reports invalid markers before any test runs.
        _limits_of(item)


@pytest.fixture(name="sluice")
def _sluice_fixture(request):
    """GPU memory of this test; `step`, `scope`, `limit`, `peak`, `held`, `settle`."""
    return _watch_of(request.node)


def _watch_of(item):
    watch = getattr(item, "_sluice_watch", None)
    if watch is None:
        watch = Watch(item.nodeid)
        watch._limits.update(_limits_of(item))
        item._sluice_watch = watch
    return watch


def _wrapper(function):
    """Works like pytest.hookimpl(wrapper=True), also for pluggy before 1.2, which passes an outcome instead of
    raising."""
    try:
        return pytest.hookimpl(wrapper=True)(function)
    except TypeError:
        pass

    def hook(item):
        run = function(item)
        next(run)
        outcome = yield
        try:
            if outcome.excinfo is None:
                run.send(outcome.get_result())
            else:
                run.throw(outcome.excinfo[1])
        except StopIteration as end:
            outcome.force_result(end.value)
        except BaseException:  # Pluggy raises the exception after the other wrappers have ended.
            outcome._result, outcome._excinfo = None, sys.exc_info()

    return pytest.hookimpl(hookwrapper=True)(hook)


@_wrapper
def pytest_runtest_call(item):
    watch = getattr(item, "_sluice_watch", None)
    if watch is None and item.get_closest_marker("sluice") is not None:
        watch = _watch_of(item)
    if watch is not None:
        watch._start()
    if recorder is not None:
        recorder.push("test " + item.nodeid)
    try:
        made = yield
        if watch is not None:
            watch._finish()  # Skipped after a failure, whose traceback still holds memory.
    finally:
        if watch is not None:
            watch._end()
        if recorder is not None:
            recorder.pop()
    if watch is None or not watch._limits:
        return made
    problems, doubts = watch._judge()
    if doubts and not problems:
        item.user_properties.append(("sluice_not_judged", "; ".join(doubts)))
    if problems:
        pytest.fail("GPU memory: " + "\n".join(problems), pytrace=False)
    return made


def pytest_terminal_summary(terminalreporter):
    # The doubts are taken from the reports, which pytest-xdist's workers send, too.
    left = [(report.nodeid, value) for reports in terminalreporter.stats.values() for report in reports
            if getattr(report, "when", None) == "call" for key, value in report.user_properties
            if key == "sluice_not_judged"]
    if not left:
        return
    terminalreporter.section("sluice: GPU memory not judged")
    for name, reason in left:
        terminalreporter.line(f"{name}: {reason}")
