#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace sluice::backend::simulated {

/// An event shared by two processes: a page of a file that both map. Lock-free. Its time is on the simulated clock of
/// the process that recorded it; a process that waits for the event advances to that time.
class shared_event {
 public:
  /// Creates an event; null if the system refuses.
  [[nodiscard]] static std::shared_ptr<shared_event> make();
  /// Maps an event created by another process. Takes ownership of the descriptor.
  [[nodiscard]] static std::shared_ptr<shared_event> open(int file);
  ~shared_event();
  shared_event(const shared_event&) = delete;
  shared_event& operator=(const shared_event&) = delete;

  /// Size of the file.
  static constexpr std::uint64_t bytes = sizeof(std::atomic<std::int64_t>);
  [[nodiscard]] int file() const noexcept { return file_; }
  void record(std::int64_t time) noexcept { page_->time.store(time, std::memory_order_release); }
  /// The time at which the event was last recorded; 0 if it never was.
  [[nodiscard]] std::int64_t time() const noexcept { return page_->time.load(std::memory_order_acquire); }

 private:
  struct page {
    std::atomic<std::int64_t> time;
  };
  static_assert(sizeof(page) == bytes);
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "processes share it");

  shared_event(int file, page* at) : file_(file), page_(at) {}

  int file_;
  page* page_;
};

}  // namespace sluice::backend::simulated
