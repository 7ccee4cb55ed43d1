#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/library_handle.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"

namespace sluice::runtime {

namespace {

// The part of cuBLAS's ABI that is used here. It is the same in all versions since 11.
struct cublas_library {
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*version)(void*, int*) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*set_workspace)(void*, void*, std::size_t) = nullptr;
  int (*sgemm)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*,
               int) = nullptr;
};

constexpr int no_transpose = 0;  // CUBLAS_OP_N

/// The cuBLAS library. Opened once and never closed, because threads use handles until they end.
const cublas_library& library() {
  static const cublas_library opened = [] {
    void* file = nullptr;
    for (const char* soname : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}) {
      if ((file = dlopen(soname, RTLD_NOW | RTLD_LOCAL))) break;
    }
    cublas_library l;
    if (!file) return l;
    const auto find = [&](auto& member, const char* symbol) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(file, symbol));
    };
    find(l.destroy, "cublasDestroy_v2");
    find(l.version, "cublasGetVersion_v2");
    find(l.set_stream, "cublasSetStream_v2");
    find(l.set_workspace, "cublasSetWorkspace_v2");
    find(l.sgemm, "cublasSgemm_v2");
    if (l.destroy && l.version && l.set_stream && l.set_workspace && l.sgemm) find(l.create, "cublasCreate_v2");
    return l;
  }();
  return opened;
}

void check(int result, const char* call) {
  if (result != 0) throw error({status::failed, result, call, "the number is a cublasStatus_t"});
}

/// The workspace size that cuBLAS recommends: 32 MiB from Hopper on, 4 MiB before.
std::size_t workspace_for(const device_ref& device) {
  const bool large = device.description().compute_major >= 9 || device.simulated();
  return std::size_t{large ? 32u : 4u} << 20;
}

/// True if an event can order the two streams: neither is being captured, or both are in the same capture.
bool in_one_order(const stream_ref& a, const stream_ref& b) {
  const auto in_a = a.device().backend().stream_capture(a.handle());
  const auto in_b = b.device().backend().stream_capture(b.handle());
  return in_a && in_b && in_a->status == in_b->status && in_a->id == in_b->id;
}

// --- the simulated device's matrix product -----------------------------------------------------------------

using backend::kernel_arguments;
using backend::kernel_work;

gemm_shape shape_in(const kernel_arguments& a) {
  return {a.get<std::uint32_t>(0), a.get<std::uint32_t>(1), a.get<std::uint32_t>(2)};
}

void run_sgemm(const launch_config& /*shape*/, const kernel_arguments& a) {
  const gemm_shape shape = shape_in(a);
  const auto alpha = a.get<float>(3), beta = a.get<float>(6);
  const auto* left = a.get<const float*>(4);
  const auto* right = a.get<const float*>(5);
  auto* out = a.get<float*>(7);
  for (std::uint64_t column = 0; column < shape.columns; ++column) {
    for (std::uint64_t row = 0; row < shape.rows; ++row) {
      float sum = 0;
      for (std::uint64_t i = 0; i < shape.inner; ++i)
        sum += left[i * shape.rows + row] * right[column * shape.inner + i];
      float& to = out[column * shape.rows + row];
      to = alpha * sum + (beta == 0 ? 0 : beta * to);
    }
  }
}

kernel_work work_of_sgemm(const launch_config& /*shape*/, const kernel_arguments& a) {
  const gemm_shape shape = shape_in(a);
  const std::uint64_t m = shape.rows, n = shape.columns, k = shape.inner;
  kernel_work work;
  work.touch(a.get<const float*>(4), m * k * sizeof(float), false);
  work.touch(a.get<const float*>(5), k * n * sizeof(float), false);
  work.touch(a.get<float*>(7), m * n * sizeof(float), true);
  work.operations = 2 * m * n * k;
  return work;
}

const kernel_definition sgemm_on_host{"sgemm", run_sgemm, work_of_sgemm};

}  // namespace

cublas::cublas(const device_ref& device)
    : stream_(device),
      workspace_(
          std::make_shared<device_buffer>(workspace_for(device), stream_, current_resource(device), workspace_tag)),
      moved_(device) {
  if (device.simulated()) return;
  if (!library().create) {
    throw error({status::unavailable, 0, "library_handle<cublas>",
                 "libcublas.so (version 11 to 13) not found; add its directory to LD_LIBRARY_PATH"});
  }
  const device_guard guard(device);
  check(library().create(&handle_), "cublasCreate");
  library().version(handle_, &version_);
}

cublas::~cublas() {
  if (!handle_) return;
  backend::device& device = stream_.device().backend();
  const auto before = device.make_current();
  library().destroy(handle_);  // waits for the handle's running work
  if (before) device.restore_current(*before);
}

// Sets stream_ to the stream that the workspace was allocated on; `use` makes the new stream wait for it.
void cublas::take_workspace(const stream_ref& stream) {
  const auto capture = find_capture(stream);
  const std::uint64_t wanted = capture ? capture->id() : 0;
  if (graphs_ == wanted) return;
  if (graphs_ != 0) {
    // During a capture, use a pool: it can allocate then, and only returns memory that no running work uses.
    const stream_ref on = capture ? stream : stream_ref(stream.device());
    const resource_ptr ptr = capturing() ? default_resource(on.device()) : current_resource(on.device());
    workspace_ = std::make_shared<device_buffer>(workspace_->size_bytes(), on, ptr, workspace_tag);
    stream_ = on;
  }
  if (capture) capture->keep(workspace_);
  graphs_ = wanted;
}

void cublas::use(const stream_ref& stream) {
  take_workspace(stream);
  // The workspace moves to the new stream. If it is new and from a pool, earlier work may still use it.
  if (!(stream == stream_) && in_one_order(stream_, stream)) {
    stream_.record(moved_);
    stream.wait(moved_);
  }
  if (!handle_) {
    stream_ = stream;
    return;
  }
  const device_guard guard(stream.device());
  check(library().set_stream(handle_, reinterpret_cast<void*>(stream.get())), "cublasSetStream");
  // cublasSetStream resets the workspace.
  check(library().set_workspace(handle_, workspace_->data(), workspace_->size_bytes()), "cublasSetWorkspace");
  stream_ = stream;
}

void cublas::sgemm(const gemm_shape& shape, float alpha, const float* a, const float* b, float beta, float* c) {
  if (shape.rows == 0 || shape.columns == 0) return;
  // A capture may have begun or ended since `use` was called.
  if (capturing() || graphs_ != 0) use(stream_ref(stream_));
  if (!handle_) {
    launch(sgemm_on_host, launch_config::for_size(std::uint64_t{shape.rows} * shape.columns), stream_, shape.rows,
           shape.columns, shape.inner, alpha, a, b, beta, c);
    return;
  }
  constexpr std::uint32_t most = 0x7fffffff;
  if (shape.rows > most || shape.columns > most || shape.inner > most) {
    throw error({status::invalid_value, 0, "cublas::sgemm",
                 fmt::format("{} x {} x {}: cuBLAS supports up to {}", shape.rows, shape.columns, shape.inner, most)});
  }
  const int m = static_cast<int>(shape.rows), n = static_cast<int>(shape.columns), k = static_cast<int>(shape.inner);
  const device_guard guard(stream_.device());
  check(library().sgemm(handle_, no_transpose, no_transpose, m, n, k, &alpha, a, m, b, std::max(k, 1), &beta, c, m),
        "cublasSgemm");
}

}  // namespace sluice::runtime
