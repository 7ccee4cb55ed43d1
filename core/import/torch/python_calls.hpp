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

/// Computes stacks for the events of a torch.profiler trace (`with_stack=True`). A stack consists of the Python
/// functions that were running at the time of the event, and of the ranges that name a phase of the program. A file may
/// have these calls thread by thread, so all calls are held until the first lookup, 24 bytes each. Private to
/// core/import.
class python_calls {
 public:
  /// The most calls that are held, which take 96 MiB.
  static constexpr std::size_t max_calls = std::size_t{4} << 20;

  explicit python_calls(trace::file_writer& out) : out_(out) {}

  /// Returns true if a range with this name is a phase of the program: the backward pass of an operator, an optimizer's
  /// step, or a data loader (`RECORD_FUNCTION` in torch/csrc/autograd/engine.cpp, torch/optim/optimizer.py,
  /// torch/utils/data).
  [[nodiscard]] static bool tells_phase(std::string_view name);

  /// Adds a call of the function `name` ("net.py(33): forward", "<built-in method matmul of type object at 0x7f00>"),
  /// or a range. If calls with the same name have different kinds, the kind of the first call counts.
  void add(trace::thread_id thread, trace::time_ns begin, trace::time_ns end, std::string_view name,
           trace::frame_kind kind);
  /// Returns the stack of the functions that were running on `thread` at `time`, marked as inferred, or none if there
  /// were none. For each thread, `time` must not decrease from call to call. After the first lookup, no call may be
  /// added. Amortized O(log calls).
  [[nodiscard]] trace::stack_id at(trace::thread_id thread, trace::time_ns time);
  /// The number of calls beyond `max_calls`, which were omitted.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  static constexpr std::size_t deepest = 2048;

  struct call {
    trace::time_ns begin = 0, end = 0;
    std::uint32_t name = 0;  ///< The id of a string. Importers number strings and threads from 1, so 32 bits suffice.
    std::uint32_t thread = 0;
  };
  struct open_call {
    trace::time_ns end = 0;
    std::uint32_t name = 0;
    trace::stack_id stack{};  ///< The stack of the call and its callers; none until it is written.
  };
  struct walk {
    std::size_t next = 0;
    std::vector<open_call> open;
  };

  void sort();
  [[nodiscard]] trace::stack_id find_stack(std::vector<open_call>& open);
  [[nodiscard]] trace::stack_id child(trace::stack_id parent, trace::frame_id frame);
  [[nodiscard]] trace::frame_id find_frame(std::uint32_t name);
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
  std::unordered_map<std::uint32_t, called> names_;  ///< Keyed by string id.
  std::unordered_map<std::uint32_t, walk> walks_;    ///< Keyed by thread.
  std::unordered_map<std::uint32_t, trace::frame_id> frames_;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, trace::frame_id> same_frames_;
  std::map<std::pair<trace::stack_id, trace::frame_id>, trace::stack_id> stacks_;
  std::uint64_t last_frame_ = 0;
  trace::frame_id mark_{};
};

}  // namespace sluice::importing
