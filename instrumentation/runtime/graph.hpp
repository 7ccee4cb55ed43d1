#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "instrumentation/runtime/stream.hpp"

// Graphs: work that is captured once and launched often, at the price of one call. Everything here throws error; a capture
// that was broken says which rule it broke.
//
//   graph_capture capture(s);          // what is enqueued on s from here on becomes nodes
//   copy_async(...); launch(...);
//   const graph g = capture.finish();
//   graph_exec exec(g);
//   for (int i = 0; i < 1000; ++i) exec.launch(s);

namespace sluice::runtime {

using backend::capture_mode;
using backend::graph_exec_options;
using backend::graph_node_kind;
using backend::graph_shape;

/// A capture that this runtime began and has not ended, or one of others', as whoever hands out memory or takes functions sees it. Thread-safe.
class active_capture {
 public:
  /// Begun by the calling thread.
  active_capture(std::uint64_t id, capture_mode mode) : id_(id), mode_(mode) {}
  /// Unique in the process.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// Keeps `owner` as long as the graph, or anything made of it, exists: what its nodes use must not go before. It is let
  /// go at once if the capture gives no graph. O(1) amortised.
  void keep(std::shared_ptr<void> owner);
  /// Keeps `owner` until the capture ends. O(1) amortised.
  void keep_until_end(std::shared_ptr<void> owner);
  /// True if the calling thread may not call what may wait, such as cudaFree: that would be refused, and break the capture.
  [[nodiscard]] bool forbids_waiting() const noexcept {
    return mode_ == capture_mode::global ||
           (mode_ == capture_mode::this_thread && owner_ == std::this_thread::get_id());
  }

 private:
  friend class graph_capture;
  std::uint64_t id_;
  capture_mode mode_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::shared_ptr<void>> until_end_;
};

namespace detail {
inline constinit std::atomic<int> captures{0};  // That this runtime began, or that were announced.
}
/// A `graph_capture`, or a capture that was announced, is under way somewhere in the process: one load.
[[nodiscard]] inline bool capturing() noexcept { return detail::captures.load(std::memory_order_acquire) != 0; }

/// The capture that work on `stream` becomes part of; null if it runs. Knows captures that a `graph_capture` began: while
/// there is none in the process it is one load. Never throws, never breaks a capture.
[[nodiscard]] std::shared_ptr<active_capture> capture_of(const stream_ref& stream) noexcept;

/// The same, whoever began it; asks the driver. One that others began is known from the first time that this sees it, and stays until
/// `forget_capture`, or the end of an announced one, says that it is gone. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<active_capture> capture_by_anybody(const stream_ref& stream);

/// The graph of a capture that others began (`id`: what cudaStreamGetCaptureInfo called it), and all that was made of it, are gone: what
/// pools kept for it is theirs again. Waits for the device; while the runtime knows of a capture that forbids that, it happens
/// later. Unknown ids are ignored.
void forget_capture(const device_ref& device, std::uint64_t id);

/// Captures that others announce, in groups whose graphs share memory: never launched at once, and in the order in which they were
/// captured, as with PyTorch's graph pools. Thread-safe.
class announced_captures {
 public:
  using key = std::pair<std::uint64_t, std::uint64_t>;  ///< the group's name, unique on the device

  /// One may begin: until `end`, pools ask about no stream and wait for none. `takes` says whether a stream is part of it, once it has begun; it is called until `end`.
  static void begin(const device_ref& device, key group, std::function<bool(std::uintptr_t)> takes);
  /// It has ended.
  static void end(const device_ref& device, key group);
  /// One graph of the group is gone, and all that was made of it. When as many are gone as were begun, the memory is the pools'
  /// again, as with `forget_capture`.
  static void release(const device_ref& device, key group);
};

/// The capture because of which memory cannot be freed on `stream` now: the one that the stream is part of, else one that forbids
/// the calling thread to wait; null if there is none. Knows, costs and promises what `capture_of` does.
[[nodiscard]] std::shared_ptr<active_capture> capture_that_holds(const stream_ref& stream) noexcept;
/// The capture because of which the calling thread cannot wait for the device now; likewise.
[[nodiscard]] std::shared_ptr<active_capture> capture_that_holds(const device_ref& device) noexcept;

/// A graph: nodes and their order. Move-only. It may be launched only as a `graph_exec`. Reading it from several threads at once
/// is fine.
class graph {
 public:
  ~graph();
  graph(graph&& other) noexcept;
  graph& operator=(graph&& other) noexcept;

  /// Kinds of the nodes and the edges between them. O(nodes + edges).
  [[nodiscard]] graph_shape shape() const;
  /// Writes it for Graphviz; `verbose` with the nodes' parameters. Throws error: the file cannot be written.
  void write_dot(const std::filesystem::path& file, bool verbose = false) const;
  [[nodiscard]] const device_ref& device() const noexcept { return device_; }
  /// The driver's handle (a CUgraph).
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(handle_); }
  [[nodiscard]] backend::graph_handle handle() const noexcept { return handle_; }

 private:
  friend class graph_capture;
  friend class graph_exec;
  graph(const device_ref& device, backend::graph_handle handle, std::vector<std::shared_ptr<void>> kept)
      : device_(device), handle_(handle), kept_(std::move(kept)) {}

  device_ref device_;
  backend::graph_handle handle_{};
  std::vector<std::shared_ptr<void>> kept_;
};

/// Captures a stream for a scope: work on it becomes nodes and does not run. A stream that waits for an event which was
/// recorded on a captured one is captured, too, and must be joined back by an event before `finish`. Memory from
/// `allocate_async` becomes nodes: its address is the graph's, its bytes exist while a launch needs them.
///
/// Not allowed meanwhile: waiting for captured streams or for events recorded on them; the default stream, beside a blocking
/// one; and, by mode, calls that may wait, such as cudaMalloc: of any thread (`global`), of this one (`this_thread`), of none
/// (`relaxed`). Such a call throws, and so does `finish` then.
///
/// Memory that is given up meanwhile, on a captured stream or where the thread may not wait, is freed once the graph and all that was
/// made of it have gone: captured work may use it. So is memory of other processes' (imported_memory), and so are the workspaces of
/// libraries that are called in the capture (library_handle).
class graph_capture {
 public:
  /// Begins. Throws error: the default stream, or one that is being captured.
  explicit graph_capture(const stream_ref& stream, capture_mode mode = capture_mode::this_thread);
  /// Gives up what was captured, unless it was finished.
  ~graph_capture();
  graph_capture(const graph_capture&) = delete;
  graph_capture& operator=(const graph_capture&) = delete;

  [[nodiscard]] const stream_ref& stream() const noexcept { return stream_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return active_->id(); }
  /// Adds a copy of `child` as one node, in the stream's order.
  void add_child(const graph& child);
  /// Ends, on the thread that began (any, if `relaxed`). Throws error: the capture was broken, or a stream was not joined.
  /// Once only.
  [[nodiscard]] graph finish();

 private:
  stream_ref stream_;
  std::shared_ptr<active_capture> active_;
  bool open_ = true;
};

/// A graph made ready to launch. Move-only; one thread at a time.
class graph_exec {
 public:
  /// Throws error, out_of_memory. O(nodes).
  explicit graph_exec(const graph& from, graph_exec_options options = {});
  /// Waits for its last launch only if it holds memory that nodes use. Where a capture forbids the calling thread to wait, all of it goes
  /// when that capture ends.
  ~graph_exec();
  graph_exec(graph_exec&& other) noexcept;
  graph_exec& operator=(graph_exec&& other) noexcept;

  /// Enqueues all of it as one piece of work. Launches of one graph_exec run one after the other. Throws error: what the launch
  /// before allocated and nobody freed (see `graph_exec_options::free_on_launch`); a captured stream, for which there is
  /// `graph_capture::add_child`; out_of_memory.
  void launch(const stream_ref& stream);
  /// Does ahead of time what the first launch would do on the device.
  void upload(const stream_ref& stream) const;
  /// Gives later launches the parameters of `from`, which must have the same nodes and edges; far cheaper than making another.
  /// Throws error, and changes nothing, where it does not fit. Waits for the last launch only if it holds memory that nodes use.
  void update(const graph& from);

  [[nodiscard]] const device_ref& device() const noexcept { return device_; }
  /// The driver's handle (a CUgraphExec).
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(handle_); }

 private:
  device_ref device_;
  backend::graph_exec_handle handle_{};
  std::vector<std::shared_ptr<void>> kept_;
  std::optional<stream_ref> last_;  // where it was launched last
};

}  // namespace sluice::runtime
