#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace sluice::backend::simulated {

/// An event that two processes have: a page of a file that both map. Lock-free; times are those of the recording
/// process's simulated clock, which the one that waits takes over.
class shared_event {
 public:
  /// Makes one; null if the system refuses.
  [[nodiscard]] static std::shared_ptr<shared_event> make();
  /// Maps one that another process made, from a descriptor that this takes over.
  [[nodiscard]] static std::shared_ptr<shared_event> open(int file);
  ~shared_event();
  shared_event(const shared_event&) = delete;
  shared_event& operator=(const shared_event&) = delete;

  /// Size of the file.
  static constexpr std::uint64_t bytes = sizeof(std::atomic<std::int64_t>);
  [[nodiscard]] int file() const noexcept { return file_; }
  void record(std::int64_t time) noexcept { page_->time.store(time, std::memory_order_release); }
  /// 0: never recorded.
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
