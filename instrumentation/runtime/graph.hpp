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

// Graphs. A program captures work once as a graph and then launches the graph repeatedly, at the cost of one call per
// launch. Functions throw error unless stated otherwise. The error for a broken capture names the violated rule.
//
//   graph_capture capture(s);          // from here on, work enqueued on s becomes graph nodes
//   copy_async(...); launch(...);
//   const graph g = capture.finish();
//   graph_exec exec(g);
//   for (int i = 0; i < 1000; ++i) exec.launch(s);

namespace sluice::runtime {

using backend::capture_mode;
using backend::graph_exec_options;
using backend::graph_node_kind;
using backend::graph_shape;

/// An active capture, begun by this runtime or by other code. The functions that allocate or free memory use it. It is
/// thread-safe.
class active_capture {
 public:
  /// Must be constructed by the thread that begins the capture.
  active_capture(std::uint64_t id, capture_mode mode) : id_(id), mode_(mode) {}
  /// Unique in the process.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// Keeps `owner` alive while the graph, or anything created from it, exists, because the graph's
  /// nodes use it. If the capture yields no graph, `owner` is released at once. O(1) amortized.
  void keep(std::shared_ptr<void> owner);
  /// Keeps `owner` alive until the capture ends. O(1) amortized.
  void keep_until_end(std::shared_ptr<void> owner);
  /// True if this thread must not make calls that may wait, such as cudaFree, because they would fail and break the
  /// capture.
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
inline constinit std::atomic<int> captures{0};  // Captures by this runtime, plus announced foreign ones.
}
/// True while a `graph_capture` or an announced capture is active anywhere in the process. Costs one load.
[[nodiscard]] inline bool capturing() noexcept { return detail::captures.load(std::memory_order_acquire) != 0; }

/// The capture to which work on `stream` is added; null if there is none. Finds only captures begun
/// by a `graph_capture`; costs one load while none is active. Never throws, never breaks a capture.
[[nodiscard]] std::shared_ptr<active_capture> find_capture(const stream_ref& stream) noexcept;

/// Like find_capture, but asks the driver and also finds foreign captures (begun by other code). A foreign capture
/// is remembered until `forget_capture`, or until its announced group is released. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<active_capture> capture_by_anybody(const stream_ref& stream);

/// Call this when the graph of a foreign capture, and everything created from it, is destroyed. `id` is the
/// capture's id from cudaStreamGetCaptureInfo. The memory that pools kept for the graph becomes free. Waits
/// for the device; if an active capture forbids that, the memory becomes free later. Unknown ids are ignored.
void forget_capture(const device_ref& device, std::uint64_t id);

/// Lets other libraries announce their captures. The graphs of one group share memory. So they must not run at the same
/// time, and must run in the order of capture, as with PyTorch's graph pools. The functions are thread-safe.
class announced_captures {
 public:
  using key = std::pair<std::uint64_t, std::uint64_t>;  ///< identifies the group; unique per device

  /// Announces that a capture may begin. Until `end`, pools neither query nor wait for streams. `takes(s)` returns true
  /// if stream `s` is being captured.
  static void begin(const device_ref& device, key group, std::function<bool(std::uintptr_t)> takes);
  /// Announces that the capture has ended.
  static void end(const device_ref& device, key group);
  /// Call when one graph of the group, and everything created from it, is destroyed. After the call for the last such
  /// graph of the group, the pools get the memory back, as with `forget_capture`.
  static void release(const device_ref& device, key group);
};

/// The capture that prevents freeing memory on `stream` now: the capture of that stream, or a capture that forbids the
/// calling thread from waiting; null if there is neither. Finds only `graph_capture`s. Costs one load while none is
/// active. Never throws.
[[nodiscard]] std::shared_ptr<active_capture> capture_that_holds(const stream_ref& stream) noexcept;
/// The capture that prevents the calling thread from waiting for the device now; null if there is none.
[[nodiscard]] std::shared_ptr<active_capture> capture_that_holds(const device_ref& device) noexcept;

/// A graph consists of nodes and their dependencies. It is move-only. Create a `graph_exec` to launch it. Several
/// threads may read it at the same time.
class graph {
 public:
  ~graph();
  graph(graph&& other) noexcept;
  graph& operator=(graph&& other) noexcept;

  /// The kinds of all nodes, and the edges between them. O(nodes + edges).
  [[nodiscard]] graph_shape shape() const;
  /// Writes the graph in Graphviz format; `verbose` adds node parameters. Throws error if it cannot write the file.
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

/// Captures a stream for a scope: work enqueued on it becomes graph nodes and does not run. A stream that waits for an
/// event of a captured stream is captured, too; it must be joined back by an event before `finish`. An allocation with
/// `allocate_async` becomes a node: the graph owns the address, and the memory exists while a launch needs it.
///
/// During a capture, it is not allowed to wait for captured streams or their events, or to use the default stream if
/// the captured stream is blocking. Calls that may wait, such as cudaMalloc, are forbidden on all threads (`global`),
/// forbidden on this thread (`this_thread`) or allowed (`relaxed`). A forbidden call throws, and then `finish` throws,
/// too.
///
/// Memory that is freed during the capture, on a captured stream or while the thread may not wait, is actually freed
/// when the graph and everything created from it is destroyed, because captured work may use it. The same applies
/// to imported_memory, and to the workspaces of libraries that are called during the capture (library_handle).
class graph_capture {
 public:
  /// Begins the capture. Throws error for the default stream, or if the stream is already being captured.
  explicit graph_capture(const stream_ref& stream, capture_mode mode = capture_mode::this_thread);
  /// Ends the capture and discards the result, unless `finish` was called.
  ~graph_capture();
  graph_capture(const graph_capture&) = delete;
  graph_capture& operator=(const graph_capture&) = delete;

  [[nodiscard]] const stream_ref& stream() const noexcept { return stream_; }
  /// The driver's id of the capture, unique in the process.
  [[nodiscard]] std::uint64_t id() const noexcept { return active_->id(); }
  /// Adds a copy of `child` as one node, in the stream's order.
  void add_child(const graph& child);
  /// Ends the capture; call it once, on the thread that began it (any thread if
  /// `relaxed`). Throws error if the capture was broken or a stream was not joined.
  [[nodiscard]] graph finish();

 private:
  stream_ref stream_;
  std::shared_ptr<active_capture> active_;
  bool open_ = true;
};

/// An executable graph. It is move-only. Use it from one thread at a time.
class graph_exec {
 public:
  /// Instantiates an executable graph. Throws error or out_of_memory. O(nodes).
  explicit graph_exec(const graph& source, graph_exec_options options = {});
  /// Waits for the last launch only if the graph holds memory that its nodes use. If a capture
  /// forbids the calling thread from waiting, everything is released when that capture ends.
  ~graph_exec();
  graph_exec(graph_exec&& other) noexcept;
  graph_exec& operator=(graph_exec&& other) noexcept;

  /// Enqueues the whole graph. Launches of one graph_exec run one after the other. Throws error if
  /// memory allocated by the previous launch was not freed (see `graph_exec_options::free_on_launch`),
  /// or if the stream is being captured (use `graph_capture::add_child`). Throws out_of_memory.
  void launch(const stream_ref& stream);
  /// Performs the device-side setup of the first launch in advance.
  void upload(const stream_ref& stream) const;
  /// Uses the parameters of `source` for later launches. Far cheaper than a new graph_exec. Throws error, and changes
  /// nothing, if nodes or edges differ. Waits for the last launch only if the graph holds memory that its nodes use.
  void update(const graph& source);

  [[nodiscard]] const device_ref& device() const noexcept { return device_; }
  /// The driver's handle (a CUgraphExec).
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(handle_); }

 private:
  device_ref device_;
  backend::graph_exec_handle handle_{};
  std::vector<std::shared_ptr<void>> kept_;
  std::optional<stream_ref> last_;  // the stream of the last launch
};

}  // namespace sluice::runtime
