"""Runs the pytest plug-in under real pytest, with stand-ins for torch, cupy and jax.

    check_pytest_plugin.py BUILD        BUILD is the build folder, with python/ and, for the last tests, the program

The exit status is 77 if pytest is not installed.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path()

# A fake allocator on two devices. Frees stay pending until the device is synchronized.
TORCH = '''
class Tensor:
    def __init__(self, nbytes, device=0):
        self.nbytes, self.device = nbytes, device
        cuda.started = True
        cuda.used[device] += nbytes
        cuda.peaks[device] = max(cuda.peaks[device], cuda.used[device])
    def __del__(self):
        cuda.in_flight.append((self.device, self.nbytes))

class cuda:
    started = False
    used, peaks, in_flight = [0, 0], [0, 0], []
    is_available = staticmethod(lambda: True)
    is_initialized = staticmethod(lambda: cuda.started)
    device_count = staticmethod(lambda: 2)
    memory_allocated = staticmethod(lambda device: cuda.used[device])
    max_memory_allocated = staticmethod(lambda device: cuda.peaks[device])
    @staticmethod
    def synchronize(device):
        for at, nbytes in [each for each in cuda.in_flight if each[0] == device]:
            cuda.used[at] -= nbytes
        cuda.in_flight[:] = [each for each in cuda.in_flight if each[0] != device]
    @staticmethod
    def reset_peak_memory_stats(device):
        cuda.peaks[device] = cuda.used[device]
'''

CUPY = '''
class Pool:
    used = 0
    def used_bytes(self): return self.used
pool = Pool()
hooks = []
def get_default_memory_pool(): return pool
def alloc(nbytes):
    pool.used += nbytes
    for hook in hooks: hook.malloc_postprocess(mem_ptr=1, mem_size=nbytes, device_id=0)
def free(nbytes): pool.used -= nbytes
class cuda:
    class runtime:
        getDeviceCount = staticmethod(lambda: 1)
    class Device:
        id = 0
        def synchronize(self): pass
    class MemoryHook:
        def __enter__(self): hooks.append(self)
        def __exit__(self, *_): hooks.remove(self)
'''

# This stand-in has, like the package jax, a module for the backends, which is empty until JAX starts.
JAX = '''
import sys, types
bridge = sys.modules["jax._src.xla_bridge"] = types.ModuleType("jax._src.xla_bridge")
bridge._backends = {}
class Device:
    id, platform, used, peak = 0, "gpu", 0, 0
    def memory_stats(self): return {"bytes_in_use": self.used, "peak_bytes_in_use": self.peak}
device = Device()
def local_devices():
    assert bridge._backends, "started by the plug-in"
    return [device]
def effects_barrier(): pass
def alloc(nbytes):
    bridge._backends["cuda"] = 1
    device.used += nbytes
    device.peak = max(device.peak, device.used)
def free(nbytes): device.used -= nbytes
'''


class Plugin(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def run_tests(self, tests, *arguments, libraries=("torch",), under=()):
        """Runs pytest on `tests` and returns (exit status, output, outcome by test)."""
        for name, text in (("torch", TORCH), ("cupy", CUPY), ("jax", JAX)):
            if name in libraries:
                (self.folder / f"{name}.py").write_text(text)
        (self.folder / "test_it.py").write_text(textwrap.dedent(tests))
        folders = [str(BUILD / "python"), str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(folders), PYTHONDONTWRITEBYTECODE="1",
                           PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        made = subprocess.run([*under, sys.executable, "-m", "pytest", "-p", "sluice_pytest", "-p", "no:cacheprovider",
                               "--junitxml=out.xml", "-q", *arguments, "test_it.py"],
                              cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        outcomes = {}
        if (self.folder / "out.xml").exists():
            for case in xml.etree.ElementTree.parse(self.folder / "out.xml").iter("testcase"):
                problem = [part.get("message", "") for part in case if part.tag in ("failure", "error")]
                outcomes[case.get("name")] = problem[0] if problem else ""
        return made.returncode, made.stdout + made.stderr, outcomes

    def test_a_test_above_its_peak_fails_and_says_by_how_much(self):
        status, _, outcomes = self.run_tests("""
            import pytest, torch
            @pytest.mark.sluice(max_peak="1MiB")
            def test_small():
                torch.Tensor(1 << 20)
            @pytest.mark.sluice(max_peak="1MiB")
            def test_large():
                torch.Tensor(3 << 19, device=1)
            def test_unmarked():
                torch.Tensor(1 << 30)
        """)
        self.assertEqual(status, 1)
        self.assertEqual(outcomes["test_small"], "")
        self.assertEqual(outcomes["test_unmarked"], "")
        self.assertIn("max_peak: PyTorch, GPU 1 used up to 1.50 MiB, limit 1.00 MiB", outcomes["test_large"])

    def test_what_was_in_use_before_does_not_count(self):
        status, output, _ = self.run_tests("""
            import pytest, torch
            held = torch.Tensor(1 << 30)
            @pytest.mark.sluice(max_peak=1 << 20, max_growth=0, no_leaks=True)
            def test_small():
                torch.Tensor(1 << 20)
        """)
        self.assertEqual(status, 0, output)
        self.assertNotIn("not judged", output)

    def test_frees_in_flight_and_cycles_are_no_leak(self):
        status, output, _ = self.run_tests("""
            import pytest, torch
            @pytest.mark.sluice(no_leaks=True)
            def test_cycle():
                class Node: pass
                node = Node()
                node.itself, node.tensor = node, torch.Tensor(1 << 20)
        """)
        self.assertEqual(status, 0, output)

    def test_what_is_kept_is_a_leak_and_growth(self):
        status, _, outcomes = self.run_tests("""
            import pytest, torch
            kept = []
            @pytest.mark.sluice(no_leaks=True)
            def test_leak():
                kept.append(torch.Tensor(5))
            @pytest.mark.sluice(max_growth="1KiB")
            def test_much():
                kept.append(torch.Tensor(2048))
            @pytest.mark.sluice(max_growth="2KiB")
            def test_little():
                kept.append(torch.Tensor(2048))
        """)
        self.assertEqual(status, 1)
        self.assertIn("no_leaks: PyTorch, GPU 0 holds 5 B more after the test", outcomes["test_leak"])
        self.assertIn("max_growth: PyTorch, GPU 0 holds 2.00 KiB more", outcomes["test_much"])
        self.assertEqual(outcomes["test_little"], "")

    def test_a_test_that_fails_keeps_its_own_failure(self):
        _, _, outcomes = self.run_tests("""
            import pytest, torch
            @pytest.mark.sluice(max_peak=1)
            def test_broken():
                tensor = torch.Tensor(1 << 20)
                assert tensor is None, "of its own"
        """)
        self.assertIn("of its own", outcomes["test_broken"])
        self.assertNotIn("max_peak", outcomes["test_broken"])

    def test_the_fixture_reads_and_limits(self):
        status, _, outcomes = self.run_tests("""
            import torch
            def test_reads(sluice):
                first = torch.Tensor(1 << 20)
                second = torch.Tensor(1 << 20)
                del second
                assert sluice.held() == 1 << 20
                assert sluice.peak() == 2 << 20
                sluice.step()
                with sluice.scope("forward"):
                    pass
                assert not sluice.recording
            def test_limits(sluice):
                sluice.limit(max_peak="1KiB")
                torch.Tensor(2048)
        """)
        self.assertEqual(status, 1)
        self.assertEqual(outcomes["test_reads"], "")
        self.assertIn("max_peak", outcomes["test_limits"])

    def test_the_nearest_marker_decides(self):
        status, output, _ = self.run_tests("""
            import pytest, torch
            pytestmark = pytest.mark.sluice(max_peak="1KiB")
            @pytest.mark.sluice(max_peak="1MiB")
            def test_it():
                torch.Tensor(1 << 20)
        """)
        self.assertEqual(status, 0, output)

    def test_nothing_known_is_said_and_fails_nothing(self):
        status, output, outcomes = self.run_tests("""
            import pytest
            @pytest.mark.sluice(max_peak="1KiB", no_leaks=True)
            def test_without_any(): pass
            def test_peak(sluice):
                assert sluice.peak() is None and sluice.held() is None
                assert sluice.reason
        """, libraries=())
        self.assertEqual(status, 0, output)
        self.assertIn("GPU memory not judged", output)
        self.assertIn("test_without_any: the test has imported none of torch, cupy, jax", output)
        self.assertNotIn("test_peak:", output)
        self.assertEqual(outcomes["test_without_any"], "")

    def test_a_library_that_uses_no_gpu_is_left_alone(self):
        status, output, _ = self.run_tests("""
            import pytest, torch, jax
            @pytest.mark.sluice(max_peak="1KiB")
            def test_host_only(): assert not torch.cuda.started
        """, libraries=("torch", "jax"))
        self.assertEqual(status, 0, output)
        self.assertIn("torch has used no GPU; jax has used no GPU", output)

    def test_a_broken_library_is_not_known(self):
        (self.folder / "torch.py").write_text("class cuda: is_available = staticmethod(lambda: 1 / 0)\n")
        status, output, _ = self.run_tests("""
            import pytest, torch
            @pytest.mark.sluice(max_peak="1KiB")
            def test_it(): pass
        """, libraries=())
        self.assertEqual(status, 0, output)
        self.assertIn("torch: ZeroDivisionError", output)

    def test_cupy_has_a_peak_by_its_hook(self):
        status, _, outcomes = self.run_tests("""
            import cupy, pytest
            @pytest.mark.sluice(max_peak="1KiB")
            def test_peak():
                cupy.alloc(2048); cupy.free(2048)
            @pytest.mark.sluice(max_peak="1KiB", no_leaks=True)
            def test_small():
                assert len(cupy.hooks) == 1
                cupy.alloc(1024); cupy.free(1024)
            def test_hook_is_gone():
                assert not cupy.hooks
        """, libraries=("cupy",))
        self.assertEqual(status, 1)
        self.assertIn("CuPy, GPU 0 used up to 2.00 KiB", outcomes["test_peak"])
        self.assertEqual(outcomes["test_small"], "")
        self.assertEqual(outcomes["test_hook_is_gone"], "")

    def test_jax_has_a_peak_until_a_higher_one_hides_it(self):
        status, output, outcomes = self.run_tests("""
            import jax, pytest
            @pytest.mark.sluice(max_peak="1KiB")
            def test_first():
                jax.alloc(4096); jax.free(4096)
            @pytest.mark.sluice(max_peak="1KiB")
            def test_hidden():
                jax.alloc(2048); jax.free(2048)
            @pytest.mark.sluice(max_peak="4KiB")
            def test_below():
                jax.alloc(2048); jax.free(2048)
        """, libraries=("jax",))
        self.assertEqual(status, 1)
        self.assertIn("JAX, GPU 0 used up to 4.00 KiB", outcomes["test_first"])
        self.assertEqual(outcomes["test_hidden"], "")
        self.assertIn("test_hidden: max_peak: JAX, GPU 0 had a higher peak before this test", output)
        self.assertNotIn("test_below:", output)

    def test_mistakes_in_markers_are_said_at_once(self):
        for wrong in ('max_peak="many"', "max_peek=1", "1", 'max_growth="-1"'):
            status, output, _ = self.run_tests(f"""
                import pytest
                @pytest.mark.sluice({wrong})
                def test_it(): raise SystemExit("has run")
            """)
            self.assertEqual(status, 4, output)
            self.assertIn("test_it.py::test_it", output)
            self.assertNotIn("has run", output)

    def test_under_the_recorder_each_test_is_a_range(self):
        program = BUILD / "sluice"
        if not program.exists():
            self.skipTest("the program is not built")
        recorded = self.folder / "run.sluice"
        status, output, _ = self.run_tests("""
            import pytest, torch
            @pytest.mark.sluice(max_peak="1KiB")
            def test_large(sluice):
                assert sluice.recording
                torch.Tensor(2048)
            def test_unmarked(): pass
        """, under=(str(program), "record", "--mode", "timeline", "-o", str(recorded), "--"))
        self.assertEqual(status, 1, output)
        # The query excludes garbage collections, which are also recorded as ranges if they take long.
        query = "SELECT name FROM host_range WHERE name LIKE 'test %' ORDER BY time"
        made = subprocess.run([program, "query", recorded, query, "--format", "csv"], capture_output=True, text=True, timeout=120)
        self.assertEqual(made.stdout.splitlines(), ["name", "test test_it.py::test_large", "test test_it.py::test_unmarked"],
                         made.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("pytest") is None:
        print("skipped: pytest is not installed for this Python")
        sys.exit(77)
    unittest.main()
