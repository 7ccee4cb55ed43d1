"""Stand-ins for the hooks of CuPy and the resources of RMM that sluice.py uses, with invented memory."""
import sys
import types


class MemoryHook:
    name = "MemoryHook"

    def __enter__(self):
        hooks[self.name] = self
        return self


hooks = {}
cupy, cuda, memory_hook = types.ModuleType("cupy"), types.ModuleType("cupy.cuda"), types.ModuleType("cupy.cuda.memory_hook")
memory_hook.get_memory_hooks = lambda: hooks
cuda.MemoryHook, cuda.memory_hook, cupy.cuda = MemoryHook, memory_hook, cuda


class Resource:
    def __init__(self):
        self.next, self.freed = 0x20000, []

    def allocate(self, nbytes, stream=None):
        self.next += 0x10000
        return self.next

    def deallocate(self, address, nbytes, stream=None):
        self.freed.append((address, nbytes, stream))


class CallbackMemoryResource:
    def __init__(self, allocate, deallocate):
        self.allocate, self.deallocate = allocate, deallocate


below = current = Resource()


def choose(resource):
    global current
    current = resource


rmm = types.ModuleType("rmm")
rmm.mr = types.SimpleNamespace(get_current_device_resource=lambda: current, set_current_device_resource=choose,
                               CallbackMemoryResource=CallbackMemoryResource)
sys.modules.update({"cupy": cupy, "cupy.cuda": cuda, "cupy.cuda.memory_hook": memory_hook, "rmm": rmm})

import sluice  # noqa: E402

sluice.watch_cupy()
sluice.watch_cupy()  # A second call has no effect.
sluice.watch_rmm()
sluice.watch_rmm()  # A second call has no effect here, either.
if not sluice.recording():
    sys.exit(0 if not hooks and current is below else 9)
(hook,) = hooks.values()
call = {"device_id": 0, "size": 300, "mem_size": 512, "mem_ptr": 0x10000, "pmem_id": 1}
hook.malloc_postprocess(**call)
hook.malloc_postprocess(**{**call, "mem_ptr": 0})  # The call allocated nothing.
hook.free_preprocess(device_id=0, mem_size=512, mem_ptr=0x10000, pmem_id=1)
address = current.allocate(1000, "stream")
current.deallocate(address, 1000, "stream")
current.allocate(2000, "stream")
sys.exit(0 if below.freed == [(address, 1000, "stream")] else 9)
