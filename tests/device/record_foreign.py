"""Small PyTorch programs whose memory snapshots are samples for the importer: record_foreign.py WHAT OUT.pickle"""

import ctypes
import inspect
import pickle
import sys

import torch

MIB = 1 << 20


def tensor(mib):
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def record(**options):
    known = inspect.signature(torch.cuda.memory._record_memory_history).parameters
    if not any(p.kind == p.VAR_KEYWORD for p in known.values()):
        options = {name: value for name, value in options.items() if name in known}
    torch.cuda.memory._record_memory_history(**options)


def churn(rounds, keep=3):
    """Makes short-lived blocks with repeating sizes."""
    held = []
    for i in range(rounds):
        held.append(tensor((0.3, 1.5, 4, 11, 0.01)[i % 5]))
        if len(held) > keep:
            del held[(i * 7) % keep]
    return held


def other_stream():
    """Makes a block that another stream still uses when it is freed, so its free completes later."""
    stream = torch.cuda.Stream()
    block = tensor(3)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        block.add_(1)
    block.record_stream(stream)
    del block
    held = tensor(1)
    torch.cuda.synchronize()
    return held, tensor(2)


def expandable(out):
    record(max_entries=10_000)
    held = churn(60)
    held += other_stream()
    large = [tensor(60) for _ in range(4)]
    del large[1:3]
    torch.cuda.empty_cache()
    large.append(tensor(90))
    del large
    torch.cuda.empty_cache()
    held += churn(20)
    torch.cuda.memory._dump_snapshot(out)


def out_of_memory(out):
    torch.cuda.set_per_process_memory_fraction(0.02)
    record(max_entries=10_000)
    held = churn(20)
    try:
        while True:
            held.append(tensor(400))
    except torch.OutOfMemoryError as refused:
        print("  refused:", str(refused)[:90])
    del held[10:]
    torch.cuda.empty_cache()
    held += churn(10)
    torch.cuda.memory._dump_snapshot(out)


def midway(out):
    before = churn(30, keep=8) + [tensor(33), tensor(70)]
    freed_later = [tensor(5), tensor(0.7), tensor(44)]
    record(max_entries=10_000)
    held = churn(20)
    del freed_later[1:], before[::2]
    torch.cuda.empty_cache()
    held += churn(20)
    torch.cuda.memory._dump_snapshot(out)


def ring(out):
    record(max_entries=150)
    held = churn(200, keep=9)
    torch.cuda.empty_cache()
    held += churn(30)
    torch.cuda.memory._dump_snapshot(out)


def annotations(out):
    record(max_entries=10_000, global_record_annotations=True)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        if hasattr(torch.cuda.memory, "_set_memory_metadata"):
            torch.cuda.memory._set_memory_metadata(f"step {step}")
        with torch.autograd.profiler.record_function(f"step {step}"):
            loss = model(torch.randn(64, 256, device="cuda")).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    if hasattr(torch.cuda, "MemPool"):
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            pooled = [tensor(3), tensor(0.5)]
    try:
        compiled = torch.compile(torch.nn.Linear(64, 64).cuda(), backend="aot_eager")
        compiled(torch.randn(8, 64, device="cuda")).sum().backward()
    except Exception as missing:  # pylint: disable=broad-except
        print("  nothing was compiled:", str(missing)[:90])
    torch.cuda.memory._dump_snapshot(out)
    del pooled


def native(out):
    """A snapshot with stacks of C++ and Python."""
    record(max_entries=10_000, stacks="all")
    held = churn(12)
    torch.cuda.memory._dump_snapshot(out)
    del held


def no_stacks(out):
    record(max_entries=10_000, context=None)
    held = churn(40)
    torch.cuda.memory._dump_snapshot(out)
    del held


def state_only(out):
    """A snapshot without a history: live blocks, and the places where they were allocated."""
    record(enabled="state")
    held = churn(40)
    torch.cuda.memory._dump_snapshot(out)
    del held


def cpp(out):
    """A snapshot as PyTorch's own C++ pickler writes it, in protocol 2."""
    record(max_entries=10_000)
    held = churn(20)
    text = (ctypes.c_uint64 * 4)()  # std::string: pointer, size, 16 bytes
    library = ctypes.CDLL("libtorch_cuda.so")
    pickled = getattr(library, "_ZN5torch4cuda24_memory_snapshot_pickledB5cxx11Ev")
    pickled.restype = None
    pickled(ctypes.byref(text))
    with open(out, "wb") as file:
        file.write(ctypes.string_at(text[0], text[1]))
    del held


def host(out):
    """A snapshot with pinned memory, from about PyTorch 2.13 on."""
    known = inspect.signature(torch.cuda.memory._record_memory_history).parameters
    option = next((name for name in ("record_pinned_host_memory", "record_host") if name in known), None)
    if option is None and not any(p.kind == p.VAR_KEYWORD for p in known.values()):
        sys.exit(f"PyTorch {torch.__version__} records no pinned memory")
    torch.cuda.memory._record_memory_history(max_entries=10_000, **{option or "record_pinned_host_memory": True})
    held = []
    for i in range(30):
        held.append(torch.empty((i % 4 + 1) * 100_000, dtype=torch.uint8, pin_memory=True))
        if i % 3 == 2:
            held[0].cuda(non_blocking=True)
            del held[0]
    snapshot = torch.cuda.memory._snapshot()
    if "host_traces" not in snapshot:
        sys.exit(f"PyTorch {torch.__version__} writes no host_traces: {list(snapshot)}")
    with open(out, "wb") as file:
        pickle.dump(snapshot, file)


def rmm_log(out):
    import rmm  # pylint: disable=import-outside-toplevel

    pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=64 * MIB, maximum_pool_size=128 * MIB)
    log = rmm.mr.LoggingResourceAdaptor(pool, log_file_name=out)
    rmm.mr.set_current_device_resource(log)
    held = []
    for i in range(60):
        held.append(rmm.DeviceBuffer(size=(i % 7 + 1) * 100_000))
        if len(held) > 4:
            del held[(i * 5) % 4]
    try:
        held.append(rmm.DeviceBuffer(size=1 << 30))
    except MemoryError as refused:
        print("  refused:", str(refused)[:90])
    log.flush()
    del held
    log.flush()


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
