#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/module_map.hpp"
#include "instrumentation/writer/rings/source_text.hpp"

namespace sluice::writer {

/// The stacks that one process has declared. Keys are valid only in their process, because code addresses are.
struct process_stacks {
  struct frame {
    ring::frame_record record{};
    trace::frame_id id{};  ///< None until an event uses a stack that contains the frame.
    bool defined = false;  ///< False while a stack contains the frame, but its record has not arrived.
  };
  struct stack {
    std::size_t first_word = 0;
    std::size_t count = 0;
    std::uint64_t base = 0;      ///< Key of the stack that continues this one.
    trace::stack_id id{};        ///< None until an event uses the stack.
    std::uint64_t replaced = 0;  ///< Value of `modules.replaced` when the stack was resolved.
  };
  std::unordered_map<std::uint64_t, frame> frames;
  std::unordered_map<std::uint64_t, stack> stacks;
  std::vector<std::uint64_t> words;                           ///< The frames of all stacks.
  std::unordered_map<std::uint64_t, trace::string_id> names;  ///< Functions of native frames, by program counter.
  process_modules modules;
  trace::process_id owner{};
};

/// Turns call stacks of recorded processes into the trace's prefix tree: common outer frames are stored once, and
/// the same line in two processes is one frame. A stack is resolved when an event first uses it, so its frames, strings
/// and modules may arrive in any order before that event. A stack is resolved again if modules were replaced since. Not
/// thread-safe.
class call_stacks {
 public:
  call_stacks(trace::file_writer& file, const catalogue& names) : file_(file), names_(names), modules_(file, names) {}

  /// Defines a code file, in which stacks resolved from now on find native frames. Returns false if the record is
  /// rejected.
  bool define(process_stacks& process, const ring::module_record& record) {
    return modules_.define(process.modules, record);
  }

  /// Defines a frame. If a stack with this frame was resolved before (because the first copy of the record was lost),
  /// adds the frame's details now. Returns false if the frame is rejected because there are too many.
  bool define(process_stacks& process, const ring::frame_record& record);

  /// Defines a stack. `frames`: innermost first; frames beyond `maximum_frames` are ignored. A known key keeps its
  /// first definition. `base`: key of the stack that continues this stack, or 0; ignored if that stack is unknown when
  /// an event uses this stack. Returns false if the stack is rejected because there are too many.
  bool define(process_stacks& process, std::uint64_t key, std::span<const std::uint64_t> frames,
              std::uint64_t base = 0);

  /// Names the function of a native frame. Stacks that are resolved from now on have the name. Ignored if there are too
  /// many names.
  void define_name(process_stacks& process, std::uint64_t pc, trace::string_id function);

  /// The id of a stack; none if `key` is 0 or undefined. O(frames) at a stack's first use, then O(1).
  [[nodiscard]] trace::stack_id stack(process_stacks& process, std::uint64_t key) {
    return key == 0 ? trace::stack_id::none : resolve(process, key, deepest_base);
  }

  /// The id of a stack that the process has not declared; none if `frames` is empty. Nothing is kept for the next call,
  /// as for stacks that differ nearly each time. `frames`: as for `define`. O(frames log frames of the trace).
  [[nodiscard]] trace::stack_id find(process_stacks& process, std::span<const std::uint64_t> frames);

  /// Appends the frames of a declared stack, innermost first; none if `key` is undefined.
  static void append_frames(const process_stacks& process, std::uint64_t key, std::vector<std::uint64_t>& to);

  /// The recorded Python lines, for `add_sources`.
  [[nodiscard]] const std::map<trace::string_id, recorded_lines>& python_lines() const { return python_lines_; }

 private:
  /// Memory limits against hostile processes, about 100 times the needs of large training runs.
  static constexpr std::size_t max_words = std::size_t{1} << 24;
  static constexpr std::size_t max_frames = std::size_t{1} << 22;
  /// Maximum length of a chain of `base` stacks. A backward pass that another backward pass started needs two.
  static constexpr int deepest_base = 8;

  using node = std::pair<trace::stack_id, trace::frame_id>;
  struct node_hash {
    std::size_t operator()(const node& n) const {
      return (trace::raw(n.first) * 0x9E3779B97F4A7C15U) ^ (trace::raw(n.second) * 0xC2B2AE3D27D4EB4FU);
    }
  };
  using frame_content =
      std::tuple<trace::frame_kind, trace::string_id, trace::string_id, trace::string_id, std::uint64_t, std::uint64_t>;

  [[nodiscard]] trace::stack_id resolve(process_stacks& process, std::uint64_t key, int bases_left);
  [[nodiscard]] trace::stack_id get_node(trace::stack_id parent, trace::frame_id frame);
  [[nodiscard]] trace::frame_id find_frame(process_stacks& process, std::uint64_t word);
  [[nodiscard]] trace::frame_row make_row(const ring::frame_record& record) const;
  [[nodiscard]] trace::frame_row native_row(process_stacks& process, std::uint64_t pc);
  [[nodiscard]] trace::frame_id get_id(trace::frame_row row);
  void write(const trace::frame_row& row);

  trace::file_writer& file_;
  const catalogue& names_;
  module_map modules_;
  std::unordered_map<node, trace::stack_id, node_hash> tree_;
  std::map<frame_content, trace::frame_id> frames_;
  std::map<trace::string_id, recorded_lines> python_lines_;
  std::uint64_t last_stack_ = 0, last_frame_ = 0;
};

}  // namespace sluice::writer
