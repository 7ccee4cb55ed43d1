#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "instrumentation/runtime/memory_resource.hpp"

// Adaptors of memory resources. Each adaptor is a memory resource that forwards its calls to an upstream resource and
// adds one feature. Adaptors can be stacked in any order. An adaptor is thread-safe if its upstream is. Names and
// behavior follow the adaptors of RMM.

namespace sluice::runtime {

/// The common base of all adaptors. It owns a share of the upstream resource and reports the upstream's device and
/// memory space.
class resource_adaptor : public memory_resource {
 public:
  /// Throws error if `upstream` is null.
  explicit resource_adaptor(resource_ptr upstream);
  [[nodiscard]] const resource_ptr& upstream() const noexcept { return upstream_; }

 protected:
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  resource_ptr upstream_;
};

/// One call that went through a logging_resource_adaptor.
struct logged_call {
  enum class action : std::uint8_t { allocate, allocate_failed, free };

  action kind = action::allocate;
  const void* address = nullptr;  ///< null for a failed allocation
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;  ///< native handle, 0 for the default stream
  std::uint64_t thread = 0;  ///< Linux thread id (gettid) of the caller
  std::int64_t time_ns = 0;  ///< since the adaptor was created, on CLOCK_MONOTONIC
};

/// Logs every call. Each call additionally costs the sink's run time and a mutex, so that only one thread at a time
/// runs the sink.
class logging_resource_adaptor final : public resource_adaptor {
 public:
  /// `sink` must not throw and must not use this adaptor.
  logging_resource_adaptor(resource_ptr upstream, std::function<void(const logged_call&)> sink);
  /// Writes CSV lines to `out` in the format of RMM's log. The first line is the header:
  /// Thread,Time,Action,Pointer,Size,Stream. Times are in ns. `out` must outlive the adaptor.
  logging_resource_adaptor(resource_ptr upstream, std::ostream& out);
  /// Writes CSV lines in RMM's log format to the file `path`, replacing an existing file. Throws error if the file
  /// cannot be written.
  logging_resource_adaptor(resource_ptr upstream, const std::string& path);
  ~logging_resource_adaptor() override;

  /// Flushes buffered log lines to the stream or file. Does nothing if the adaptor was created with a sink.
  void flush();

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  logging_resource_adaptor(resource_ptr upstream, std::unique_ptr<std::ostream> file);
  void log(logged_call call) noexcept;

  std::unique_ptr<std::ostream> file_;  // the log file; null if the adaptor writes to a caller's stream or sink
  std::ostream* out_ = nullptr;
  std::int64_t begin_ns_ = 0;
  std::mutex mutex_;
  std::function<void(const logged_call&)> sink_;
};

/// Totals of a statistics_resource_adaptor: requested bytes (before any rounding) and blocks.
struct allocation_statistics {
  struct quantity {
    std::uint64_t current = 0;  ///< amount that is allocated and not freed
    std::uint64_t peak = 0;     ///< the highest value of `current`
    std::uint64_t total = 0;    ///< sum of all allocations so far
  };
  quantity bytes, blocks;
  std::uint64_t failed = 0;  ///< number of allocations that threw
};

/// Counts allocations and frees. Each call locks a mutex while it counts, but not during the upstream call.
class statistics_resource_adaptor final : public resource_adaptor {
 public:
  explicit statistics_resource_adaptor(resource_ptr upstream) : resource_adaptor(std::move(upstream)) {}

  /// Returns a consistent snapshot: all numbers are from the same moment.
  [[nodiscard]] allocation_statistics statistics() const;
  /// Sets both peaks to the current values.
  void reset_peaks();

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  mutable std::mutex mutex_;
  allocation_statistics counts_;
};

/// Limits the number of bytes that are allocated at the same time. Counts requested sizes, before any rounding.
/// Beyond the limit, allocate() throws out_of_memory and records a failed allocation.
class limiting_resource_adaptor final : public resource_adaptor {
 public:
  /// With `limit_bytes` 0, every allocation fails.
  limiting_resource_adaptor(resource_ptr upstream, std::uint64_t limit_bytes)
      : resource_adaptor(std::move(upstream)), limit_(limit_bytes) {}

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  /// Bytes that are currently allocated through this adaptor.
  [[nodiscard]] std::uint64_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> allocated_{0};
};

/// Retries failed allocations. If the upstream throws out_of_memory, the adaptor calls its callbacks, most recently
/// added first, until one returns true (because it freed something), and then retries the allocation. If every callback
/// returns false, the caller gets the error of the last attempt. Other errors are passed on immediately.
class failure_callback_resource_adaptor final : public resource_adaptor {
 public:
  /// A callback may free memory (also in the upstream, or in a pool that is growing on top of this resource) and
  /// allocate. It may also throw; the caller of allocate() then gets the exception. If a callback always returns true,
  /// the allocation is retried forever.
  using callback = std::function<bool(const out_of_memory& failure)>;

  explicit failure_callback_resource_adaptor(resource_ptr upstream, callback on_failure = {});

  /// Adds a callback, which is called before the existing callbacks.
  void add(callback on_failure);

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;

 private:
  [[nodiscard]] bool ask(const out_of_memory& failure);

  std::mutex mutex_;
  std::vector<callback> callbacks_;
};

static_assert(stream_ordered_resource<logging_resource_adaptor>);
static_assert(stream_ordered_resource<statistics_resource_adaptor>);
static_assert(stream_ordered_resource<limiting_resource_adaptor>);
static_assert(stream_ordered_resource<failure_callback_resource_adaptor>);

}  // namespace sluice::runtime
