#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace sluice {

/// An empty vector that reuses the memory of a vector that the same thread used earlier. This saves time, because
/// getting new pages for thousands of rows takes as long as filling the pages. Each thread keeps at most one vector of
/// each type, of at most 2 MiB.
template <class T>
class thread_scratch {
 public:
  thread_scratch() : list_(std::exchange(kept(), {})) { list_.clear(); }
  ~thread_scratch() {
    if (list_.capacity() <= max_kept) kept() = std::move(list_);
  }
  thread_scratch(const thread_scratch&) = delete;
  thread_scratch& operator=(const thread_scratch&) = delete;

  std::vector<T>& operator*() { return list_; }
  std::vector<T>* operator->() { return &list_; }

 private:
  static constexpr std::size_t max_kept = (std::size_t{2} << 20) / sizeof(T);
  static std::vector<T>& kept() {
    thread_local std::vector<T> kept;
    return kept;
  }
  std::vector<T> list_;
};

}  // namespace sluice
