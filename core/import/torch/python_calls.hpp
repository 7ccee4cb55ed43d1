#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// The Python functions in a trace of torch.profiler (`with_stack=True`), and the ranges that say what a program does, as the
/// stacks of what happened while they ran.
/// They come thread by thread or sorted by time, so all are held until they are asked for, 24 bytes each. Private to
/// core/import.
class python_calls {
 public:
  /// At most so many are held: 96 MiB.
  static constexpr std::size_t most_calls = std::size_t{4} << 20;

  explicit python_calls(trace::file_writer& out) : out_(out) {}

  /// True for the name of a range that says what a program does in it: the backward of an operator, an optimizer's step, a
  /// loader of data (`RECORD_FUNCTION` in torch/csrc/autograd/engine.cpp, torch/optim/optimizer.py, torch/utils/data).
  [[nodiscard]] static bool tells_phase(std::string_view name);

  /// Adds a call of the function `name`: "net.py(33): forward", "<built-in method matmul of type object at 0x7f00>"; or a range.
  /// The kind is that of the first one with this name.
  void add(trace::thread_id thread, trace::time_ns begin, trace::time_ns end, std::string_view name,
           trace::frame_kind kind);
  /// The stack of the functions that ran on `thread` at `time`, marked as inferred; none without any. For each thread
  /// the times must not go back, and no call may be added after the first question. Amortized O(log calls).
  [[nodiscard]] trace::stack_id at(trace::thread_id thread, trace::time_ns time);
  /// The number of calls that were not held.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  static constexpr std::size_t deepest = 2048;

  struct call {
    trace::time_ns begin = 0, end = 0;
    std::uint32_t name = 0;  ///< The string's id. Importers number strings and threads from 1, so 32 bits suffice.
    std::uint32_t thread = 0;
  };
  struct open_call {
    trace::time_ns end = 0;
    std::uint32_t name = 0;
    trace::stack_id stack{};  ///< Of the call and those around it; none: not made yet.
  };
  struct walk {
    std::size_t next = 0;
    std::vector<open_call> open;
  };

  void sort();
  [[nodiscard]] trace::stack_id stack_of(std::vector<open_call>& open);
  [[nodiscard]] trace::stack_id child(trace::stack_id parent, trace::frame_id frame);
  [[nodiscard]] trace::frame_id frame_of(std::uint32_t name);
  [[nodiscard]] trace::frame_id new_frame(trace::frame_kind kind, std::string_view function, std::string_view file,
                                          std::uint64_t line);

  trace::file_writer& out_;
  std::vector<call> calls_;
  std::uint64_t left_out_ = 0;
  bool sorted_ = false;
  struct called {
    std::string name;
    trace::frame_kind kind = trace::frame_kind::unknown;
  };
  std::unordered_map<std::uint32_t, called> names_;  ///< By string id.
  std::unordered_map<std::uint32_t, walk> walks_;    ///< By thread.
  std::unordered_map<std::uint32_t, trace::frame_id> frames_;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, trace::frame_id> same_frames_;
  std::map<std::pair<trace::stack_id, trace::frame_id>, trace::stack_id> stacks_;
  std::uint64_t last_frame_ = 0;
  trace::frame_id mark_{};
};

}  // namespace sluice::importing
