#pragma once

#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "instrumentation/capture/native_stack.hpp"

/// What tests of native stacks share: a walk of ours beside glibc's of the same moment.
namespace sluice::test {

inline constexpr std::size_t most_frames = 200;

/// Taken without allocating, in signal handlers too.
struct two_walks {
  std::array<std::uint64_t, most_frames> ours{};
  std::array<void*, most_frames> theirs{};
  std::size_t our_count = 0, their_count = 0;

  [[gnu::noinline]] void take() {
    our_count = capture::native_frames(ours.data(), ours.size(), 0);
    their_count = static_cast<std::size_t>(backtrace(theirs.data(), static_cast<int>(theirs.size())));
  }
  static void visit(void* with) { static_cast<two_walks*>(with)->take(); }

  [[nodiscard]] std::uint64_t their(std::size_t i) const { return reinterpret_cast<std::uint64_t>(theirs[i]); }

  /// The innermost frames are two calls in one function; for what a signal interrupted, ours is one further (as a return
  /// address would be).
  [[nodiscard]] bool agree_at(std::size_t i) const { return i == 0 || ours[i] == their(i) || ours[i] == their(i) + 1; }
  [[nodiscard]] bool agree() const {
    bool same = our_count == their_count && our_count >= 3;
    for (std::size_t i = 0; i < our_count && i < their_count; ++i) same = same && agree_at(i);
    return same;
  }
  /// Empty when they agree.
  [[nodiscard]] std::string difference() const { return agree() ? "" : "ours and glibc's" + list(); }
  [[nodiscard]] std::string list() const {
    std::string text = ":\n";
    char** const names = backtrace_symbols(theirs.data(), static_cast<int>(their_count));
    for (std::size_t i = 0; i < std::max(our_count, their_count); ++i) {
      char line[64];
      snprintf(line, sizeof line, "  %2zu %12llx ", i, i < our_count ? static_cast<unsigned long long>(ours[i]) : 0ULL);
      text += line + std::string(i < their_count ? names[i] : "-") + "\n";
    }
    free(names);
    return text;
  }
};

/// glibc loads its unwinder at the first call, which allocates; ours needs its cache.
class NativeStack : public testing::Test {
 protected:
  void SetUp() override {
    void* frame = nullptr;
    backtrace(&frame, 1);
    ASSERT_TRUE(capture::start_native_stacks());
  }
};

}  // namespace sluice::test
