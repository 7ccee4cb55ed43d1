#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/stream.hpp"

// Handles of CUDA libraries, one per device and thread, because handles are slow to create and threads must not share
// them. A library is loaded at run time in whichever version is found, and nothing links against it. Its device
// workspace is allocated here, with a name and from the device's current resource, so statistics and recordings include
// it.
//
//   const library_handle<cublas> blas(s);
//   blas->sgemm({.rows = m, .columns = n, .inner = k}, 1, a, b, 0, c);

namespace sluice::runtime {

/// Sizes of C = A * B: A is rows x inner, B is inner x columns, C is rows x columns. All are dense and column-major.
struct gemm_shape {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t inner = 0;
};

/// cuBLAS on a CUDA device. On the simulated device, Sluice's own matrix product replaces it: it computes
/// on the host and is recorded as a kernel, and `get()` is null. Use an object from one thread at a time.
class cublas {
 public:
  /// The name of the workspace in recordings.
  static constexpr const char* workspace_tag = "cuBLAS workspace";

  /// Throws error if libcublas is not found (see LD_LIBRARY_PATH) or fails, or out_of_memory.
  explicit cublas(const device_ref& device);
  ~cublas();
  cublas(const cublas&) = delete;
  cublas& operator=(const cublas&) = delete;

  /// Sets the stream. The new stream waits, on the device, for work enqueued on the old stream, because both use the
  /// workspace. So the old stream must still exist. If only one of the two is being captured, the caller must order
  /// them.
  ///
  /// In a `graph_capture`, the graph keeps the workspace as long as it can be launched, and later work gets another
  /// workspace. A capture begun by other code keeps no workspace, so the thread and its handle must outlive that graph.
  /// Throws error or out_of_memory.
  void use(const stream_ref& stream);
  /// Enqueues C = alpha * A * B + beta * C in single precision. Throws error, and out_of_memory like `use`.
  void sgemm(const gemm_shape& shape, float alpha, const float* a, const float* b, float beta, float* c);

  /// The library's handle (a cublasHandle_t), for its other functions. In a capture, call `use` first.
  [[nodiscard]] void* get() const noexcept { return handle_; }
  /// The library's version number, such as 130100; 0 on the simulated device.
  [[nodiscard]] int version() const noexcept { return version_; }
  /// The size of the device workspace.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_->size_bytes(); }

 private:
  // Ensures that the workspace is not used by any graph except that of the stream's own capture.
  void take_workspace(const stream_ref& stream);

  stream_ref stream_;
  std::shared_ptr<device_buffer> workspace_;
  std::uint64_t graphs_ = 0;  // id of the capture that uses the workspace; 0: none
  event moved_;
  void* handle_ = nullptr;
  int version_ = 0;
};

/// The calling thread's handle of a library, for a stream's device. The handle is created on first use, then kept. This
/// object is only a reference to the handle. Copy it freely, but only within the thread.
template <class Library>
class library_handle {
 public:
  /// Sets the stream (`use`). This affects all library_handles of this thread and device, because they share one object
  /// and one workspace. Throws the errors of creating the handle and of `use`.
  explicit library_handle(const stream_ref& stream = current_stream()) : library_(&of(stream.device())) {
    library_->use(stream);
  }
  [[nodiscard]] Library* operator->() const noexcept { return library_; }
  [[nodiscard]] Library& operator*() const noexcept { return *library_; }

  /// Destroys the calling thread's handles of this library and their workspaces now instead of at thread exit.
  static void release_all() noexcept { kept().clear(); }

 private:
  struct entry {
    device_ref device;
    std::unique_ptr<Library> library;
  };
  static std::vector<entry>& kept() {
    thread_local std::vector<entry> mine;
    return mine;
  }
  static Library& of(const device_ref& device) {
    for (entry& e : kept()) {
      if (e.device == device) return *e.library;
    }
    kept().push_back({device, std::make_unique<Library>(device)});
    return *kept().back().library;
  }

  Library* library_;
};

}  // namespace sluice::runtime
