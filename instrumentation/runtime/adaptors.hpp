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

// Resources over resources: each does what its upstream does, and something of its own. They stack in any order. Thread-safe if
// the upstream is; names and behaviour follow RMM's adaptors.

namespace sluice::runtime {

/// What all adaptors share: they hold their upstream, and answer for its device and space.
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

  action what = action::allocate;
  const void* address = nullptr;  ///< null of a failed one
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;  ///< native handle, 0 for the default stream
  std::uint64_t thread = 0;  ///< the system's number of the calling thread
  std::int64_t time_ns = 0;  ///< since the adaptor was made, on CLOCK_MONOTONIC
};

/// Tells every call. A call costs its upstream's time and that of the sink, which is called by one thread at a time.
class logging_resource_adaptor final : public resource_adaptor {
 public:
  /// `sink` must not throw and must not use this adaptor.
  logging_resource_adaptor(resource_ptr upstream, std::function<void(const logged_call&)> sink);
  /// Lines of comma-separated values, as RMM's log has them: Thread,Time,Action,Pointer,Size,Stream, with a line of these
  /// names first; time in ns. `out` must outlive the adaptor.
  logging_resource_adaptor(resource_ptr upstream, std::ostream& out);
  /// The same into a file, which is replaced. Throws error if it cannot be written.
  logging_resource_adaptor(resource_ptr upstream, const std::string& path);
  ~logging_resource_adaptor() override;

  /// Writes out what is buffered; does nothing for a sink.
  void flush();

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  logging_resource_adaptor(resource_ptr upstream, std::unique_ptr<std::ostream> file);
  void tell(logged_call call) noexcept;

  std::unique_ptr<std::ostream> file_;  // where the log is one of its own
  std::ostream* out_ = nullptr;
  std::int64_t begin_ns_ = 0;
  std::mutex mutex_;
  std::function<void(const logged_call&)> sink_;
};

/// What went through a statistics_resource_adaptor, in bytes as they were asked for, and in blocks.
struct allocation_statistics {
  struct quantity {
    std::uint64_t current = 0;  ///< allocated and not freed
    std::uint64_t peak = 0;     ///< the most that `current` was
    std::uint64_t total = 0;    ///< ever
  };
  quantity bytes, blocks;
  std::uint64_t failed = 0;  ///< allocations that threw
};

/// Counts. A mutex a call, around the counting alone.
class statistics_resource_adaptor final : public resource_adaptor {
 public:
  explicit statistics_resource_adaptor(resource_ptr upstream) : resource_adaptor(std::move(upstream)) {}

  /// All of one moment.
  [[nodiscard]] allocation_statistics statistics() const;
  /// The peaks become what is current.
  void reset_peaks();

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  mutable std::mutex mutex_;
  allocation_statistics counts_;
};

/// Lets at most so many bytes through at a time, as they were asked for. Throws out_of_memory beyond it; the attempt is an
/// event in recordings.
class limiting_resource_adaptor final : public resource_adaptor {
 public:
  /// `limit_bytes` 0 lets nothing through.
  limiting_resource_adaptor(resource_ptr upstream, std::uint64_t limit_bytes)
      : resource_adaptor(std::move(upstream)), limit_(limit_bytes) {}

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  /// Bytes allocated and not freed.
  [[nodiscard]] std::uint64_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> allocated_{0};
};

/// Asks for help when memory runs out. Each time the upstream throws out_of_memory the callbacks are called in turn, the last
/// added first, until one returns true, which means that it has freed something; then the allocation is tried again. When
/// all have returned false, the error of the last attempt goes to the caller. Other errors go to the caller at once.
class failure_callback_resource_adaptor final : public resource_adaptor {
 public:
  /// May free memory, also of the upstream or of a pool that is growing over this resource, allocate, and throw, which goes to the caller.
  /// One that returns true for ever is tried for ever.
  using callback = std::function<bool(const out_of_memory& failure)>;

  explicit failure_callback_resource_adaptor(resource_ptr upstream, callback on_failure = {});

  /// Adds one that is called before those there are.
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
