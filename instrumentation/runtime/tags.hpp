#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Tags are names that a program assigns to memory before allocating it.

namespace sluice::runtime {

/// Tags all allocations of the calling thread while the object lives. In recordings, every allocation
/// (even if it failed) of pools, the runtime's resources and buffers has the tag. Scopes nest: "step"
/// around "forward" gives "step/forward", followed by a buffer's own tag. Scopes must end in reverse
/// order, on the thread that created them. O(length of the names); no further cost if nothing is recorded.
class scoped_tag {
 public:
  /// Copies the name.
  explicit scoped_tag(std::string_view name);
  ~scoped_tag();
  scoped_tag(const scoped_tag&) = delete;
  scoped_tag& operator=(const scoped_tag&) = delete;

  /// The calling thread's tags, outermost first, separated by slashes;
  /// empty without a scope. Valid while the innermost scope lives.
  [[nodiscard]] static std::string_view current() noexcept;

  /// True if the calling thread is inside a scope.
  [[nodiscard]] static bool any() noexcept { return innermost_ != nullptr; }

  /// The key of `current` in the current recording; 0 without a scope. Internal.
  [[nodiscard]] static std::uint64_t current_key() noexcept { return innermost_ == nullptr ? 0 : innermost_->key(); }

 private:
  [[nodiscard]] std::uint64_t key() const noexcept;

  static inline constinit thread_local const scoped_tag* innermost_ = nullptr;
  const scoped_tag* outer_;
  std::string path_;
  mutable std::uint64_t key_ = 0;
  mutable std::uint32_t generation_ = 0;  // number of the recording that `key_` belongs to
};

}  // namespace sluice::runtime
