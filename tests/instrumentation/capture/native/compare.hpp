#pragma once

#include <execinfo.h>
#include <gtest/gtest.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "instrumentation/capture/stacks/native_stack.hpp"

/// Shared by the tests of native stacks: walks the same stack with our unwinder and with libgcc's. (glibc's backtrace()
/// uses libgcc's unwinder, but sanitizers replace backtrace() with their own.)
namespace sluice::test {

inline constexpr std::size_t max_frames = 200;

/// The frames that both walks found. Filling it does not allocate, so it can be used in signal handlers.
struct two_walks {
  std::array<std::uint64_t, max_frames> ours{};
  std::array<std::uint64_t, max_frames> theirs{};
  std::size_t our_count = 0, their_count = 0;

  [[gnu::noinline]] void take() {
    our_count = capture::native_frames(ours.data(), ours.size(), 0);
    their_count = 0;
    _Unwind_Backtrace(add, this);
  }
  static void visit(void* with) { static_cast<two_walks*>(with)->take(); }

  /// The innermost frames may differ: they are two different calls in one function.
  [[nodiscard]] bool agree_at(std::size_t i) const { return i == 0 || ours[i] == theirs[i]; }
  [[nodiscard]] bool agree() const {
    bool same = our_count == their_count && our_count >= 3;
    for (std::size_t i = 0; i < our_count && i < their_count; ++i) same = same && agree_at(i);
    return same;
  }
  /// A description of the difference; empty if both walks agree.
  [[nodiscard]] std::string difference() const { return agree() ? "" : "ours and libgcc's" + list(); }
  [[nodiscard]] std::string list() const {
    std::string text = ":\n";
    for (std::size_t i = 0; i < std::max(our_count, their_count); ++i) {
      void* const at = reinterpret_cast<void*>(i < their_count ? theirs[i] : ours[i]);
      char** const name = backtrace_symbols(&at, 1);
      char line[64];
      snprintf(line, sizeof line, "  %2zu %12llx %s ", i,
               i < our_count ? static_cast<unsigned long long>(ours[i]) : 0ULL, i < their_count ? "" : "only ours");
      text += line + std::string(name[0]) + "\n";
      free(name);
    }
    return text;
  }

 private:
  static _Unwind_Reason_Code add(_Unwind_Context* context, void* to) {
    auto& walks = *static_cast<two_walks*>(to);
    int before_instruction = 0;
    const std::uint64_t pc = _Unwind_GetIPInfo(context, &before_instruction);
    if (pc == 0 || walks.their_count == max_frames) return _URC_END_OF_STACK;
    // Our address of an interrupted instruction is one higher, like a return address.
    walks.theirs[walks.their_count++] = pc + (before_instruction != 0 ? 1 : 0);
    return _URC_NO_REASON;
  }
};

class native_stack_test : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(capture::start_native_stacks()); }
};

}  // namespace sluice::test
