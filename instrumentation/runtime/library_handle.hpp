#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/stream.hpp"

// Handles of CUDA's libraries, one per device and thread: making one is slow, and two threads must not share one. The library is opened
// at run time, whichever version is there; nothing links it. What it needs of device memory is allocated here, through the
// device's current resource and under a name, so that it is in the books and in the recording.
//
//   const library_handle<cublas> blas(s);
//   blas->sgemm({.rows = m, .columns = n, .inner = k}, 1, a, b, 0, c);

namespace sluice::runtime {

/// Sizes of C = A * B: A is rows x inner, B inner x columns, C rows x columns; all column-major without gaps.
struct gemm_shape {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t inner = 0;
};

/// cuBLAS on a CUDA device. On the simulated one a product of this project's own stands behind the same type: it computes on the
/// host and is recorded as a kernel; `get()` is null there. One thread at a time.
class cublas {
 public:
  /// What its workspace is called in recordings.
  static constexpr const char* workspace_tag = "cuBLAS workspace";

  /// Throws error: libcublas is not to be found (LD_LIBRARY_PATH), or refuses; out_of_memory.
  explicit cublas(const device_ref& device);
  ~cublas();
  cublas(const cublas&) = delete;
  cublas& operator=(const cublas&) = delete;

  /// Work goes to this stream from now on. The workspace moves along, so the stream waits, on the device, for what the last one has
  /// been given so far; that one must still exist. The caller orders a captured stream and one that is not: no event can.
  ///
  /// In a `graph_capture` the workspace becomes the graph's, which keeps it as long as it may be launched; what follows gets another.
  /// Captures that others began keep nothing: there the thread and its handle must outlive the graph.
  /// Throws error, out_of_memory.
  void use(const stream_ref& stream);
  /// C = alpha * A * B + beta * C in single precision, enqueued. Throws error; out_of_memory as `use` does.
  void sgemm(const gemm_shape& shape, float alpha, const float* a, const float* b, float beta, float* c);

  /// The library's own handle (a cublasHandle_t), for its other calls. In a capture, `use` it there first.
  [[nodiscard]] void* get() const noexcept { return handle_; }
  /// As the library says, such as 130100; 0 on the simulated device.
  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_->size_bytes(); }

 private:
  // One that no graph uses but that of the stream's capture, if it has one.
  void take_workspace(const stream_ref& stream);

  stream_ref stream_;
  std::shared_ptr<device_buffer> workspace_;
  std::uint64_t graphs_ = 0;  // the capture that the workspace was given to; 0: none
  event moved_;
  void* handle_ = nullptr;
  int version_ = 0;
};

/// The calling thread's handle of a library for a stream's device, made at first use and kept. The object is a reference: copy it within
/// the thread, do not hand it to another.
template <class Library>
class library_handle {
 public:
  /// Sets the stream (`use`), also for the thread's other library_handles of this device: they are one object with one workspace.
  /// Throws what making the handle throws.
  explicit library_handle(const stream_ref& stream = current_stream()) : library_(&of(stream.device())) {
    library_->use(stream);
  }
  [[nodiscard]] Library* operator->() const noexcept { return library_; }
  [[nodiscard]] Library& operator*() const noexcept { return *library_; }

  /// Destroys the calling thread's handles of this library, and frees their workspaces. They go with the thread otherwise.
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
