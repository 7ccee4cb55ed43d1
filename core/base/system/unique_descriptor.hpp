#pragma once

#include <unistd.h>

#include <utility>

namespace sluice {

/// Owns a file descriptor and closes it in the destructor.
class unique_descriptor {
 public:
  unique_descriptor() = default;
  explicit unique_descriptor(int number) : number_(number) {}
  unique_descriptor(unique_descriptor&& other) noexcept : number_(other.release()) {}
  unique_descriptor& operator=(unique_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~unique_descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  /// The descriptor; negative: none.
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  /// Transfers ownership of the descriptor to the caller.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace sluice
