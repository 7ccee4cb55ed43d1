#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What the program calls the memory that it is about to allocate.

namespace sluice::runtime {

/// Names what the calling thread allocates while it lives: the name is on every allocation, also a failed one, that pools,
/// resources of the runtime and buffers make meanwhile in a recording. Scopes nest: "step" around "forward" gives
/// "step/forward", and a buffer's own tag comes after it. Must end on the thread that it began on, the innermost first. O(length
/// of the names); nothing more where nobody records.
class scoped_tag {
 public:
  explicit scoped_tag(std::string_view name);
  ~scoped_tag();
  scoped_tag(const scoped_tag&) = delete;
  scoped_tag& operator=(const scoped_tag&) = delete;

  /// The names of the calling thread's scopes, outermost first, with slashes between; empty: there is none. Valid while the
  /// innermost lives.
  [[nodiscard]] static std::string_view current() noexcept;

  /// The calling thread is in a scope.
  [[nodiscard]] static bool any() noexcept { return innermost_ != nullptr; }

  /// The key of `current` in the present recording, 0: there is no scope. Internal.
  [[nodiscard]] static std::uint64_t current_key() noexcept { return innermost_ == nullptr ? 0 : innermost_->key(); }

 private:
  [[nodiscard]] std::uint64_t key() const noexcept;

  static inline constinit thread_local const scoped_tag* innermost_ = nullptr;
  const scoped_tag* outer_;
  std::string path_;
  mutable std::uint64_t key_ = 0;
  mutable std::uint32_t generation_ = 0;  // the recording that has the key
};

}  // namespace sluice::runtime
