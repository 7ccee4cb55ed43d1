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
#include "instrumentation/writer/assembler/catalogue.hpp"
#include "instrumentation/writer/assembler/module_map.hpp"
#include "instrumentation/writer/source_text.hpp"

namespace sluice::collector {

/// What one process has said of its stacks: keys are its own, for addresses of code are.
struct process_stacks {
  struct frame {
    frame_record record{};
    trace::frame_id id{};  ///< None until a stack that is used names it.
    bool defined = false;  ///< False: a stack named it, and its record has not come.
  };
  struct stack {
    std::size_t first_word = 0;
    std::size_t count = 0;
    std::uint64_t base = 0;      ///< Key of the stack that it goes on as.
    trace::stack_id id{};        ///< None until an event names it.
    std::uint64_t replaced = 0;  ///< `modules.replaced` when it was resolved.
  };
  std::unordered_map<std::uint64_t, frame> frames;
  std::unordered_map<std::uint64_t, stack> stacks;
  std::vector<std::uint64_t> words;  ///< Of all stacks.
  process_modules modules;
  trace::process_id owner{};
};

/// Turns call stacks of recorded processes into the trace's prefix tree: what stacks share, from the outermost frame on, is
/// written once, and the same line of two processes is one frame. A stack is resolved when the first event names it, so
/// frames, texts and modules may come in any order until then; anew, when modules have been replaced since. Not thread-safe.
class call_stacks {
 public:
  call_stacks(trace::file_writer& file, const catalogue& names) : file_(file), names_(names), modules_(file, names) {}

  /// A file of code. Stacks that are named from now on have their native frames in it. False: it is left out.
  bool define(process_stacks& process, const module_record& record) { return modules_.define(process.modules, record); }

  /// A frame that a stack named before its record came (the first copy was lost) gets its particulars now. False: there
  /// are too many frames, and this one is left out.
  bool define(process_stacks& process, const frame_record& record);

  /// `frames`: innermost first. Frames beyond `maximum_frames` are left out; a key that is known keeps its first meaning.
  /// `base`: the key of the stack that it goes on as, 0 for none; one that is not known when an event names the stack is left
  /// out. False: there are too many stacks, and this one is left out.
  bool define(process_stacks& process, std::uint64_t key, std::span<const std::uint64_t> frames,
              std::uint64_t base = 0);

  /// None if `key` is 0 or was never introduced. O(1) for a stack used before, O(frames) the first time.
  [[nodiscard]] trace::stack_id stack(process_stacks& process, std::uint64_t key) {
    return key == 0 ? trace::stack_id::none : resolve(process, key, deepest_base);
  }

  /// Where Python's frames were, for `add_sources`.
  [[nodiscard]] const std::map<trace::string_id, recorded_lines>& python_lines() const { return python_lines_; }

 private:
  /// Bounds on what a hostile process can make us keep, a hundred times what large trainings have.
  static constexpr std::size_t most_words = std::size_t{1} << 24;
  static constexpr std::size_t most_frames = std::size_t{1} << 22;
  /// Of stacks that go on as others: a backward pass that a backward pass began is two.
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
  [[nodiscard]] trace::stack_id node_of(trace::stack_id parent, trace::frame_id frame);
  [[nodiscard]] trace::frame_id frame_of(process_stacks& process, std::uint64_t word);
  [[nodiscard]] trace::frame_row row_of(const frame_record& record) const;
  [[nodiscard]] trace::frame_row native_row(process_stacks& process, std::uint64_t pc);
  [[nodiscard]] trace::frame_id id_of(trace::frame_row row);
  void write(const trace::frame_row& row);

  trace::file_writer& file_;
  const catalogue& names_;
  module_map modules_;
  std::unordered_map<node, trace::stack_id, node_hash> tree_;
  std::map<frame_content, trace::frame_id> frames_;
  std::map<trace::string_id, recorded_lines> python_lines_;
  std::uint64_t last_stack_ = 0, last_frame_ = 0;
};

}  // namespace sluice::collector
