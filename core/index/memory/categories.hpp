#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/work/steps.hpp"
#include "core/trace/model/tables.hpp"

/// What a framework's blocks are for. A tag that the program gave is exact. All else is inferred, and must be called so.
///
/// The rules, the first that fits. "Stack" is the innermost frame that says anything (see `clue`), "stays" is: lives over
/// the beginning of two steps or more (without known steps: over half of the recording), "early": born before the second
/// step, "backward thread": named pt_autograd_* by PyTorch, or one that asks for blocks without ever running Python, in a
/// process whose other threads do.
///
///   1 a copy from the host is its first use       stays, early, not copied to again after the first step: weight; else input
///   2 the stack makes or moves a model            weight
///   3 the stack loads data                        input
///   4 the stack is an optimizer's                 stays: optimizer state; else workspace
///   5 the stack, or else the thread, is backward  stays: gradient; named by one launch only: workspace; else gradient
///   6 stays, born before the first step           weight
///   7 stays, early                                with stacks: workspace (a library's, made at its first call); without, born
///                                                 after a backward thread's first block: optimizer state; else workspace
///   8 named by one launch only                    workspace
///   9 otherwise                                   activation
///
/// Known errors. Gradients of activations count as gradients: nothing tells them from those of weights but that these last.
/// A result that nobody read counts as workspace, like the scratch memory of a library. Gradients that are gathered over
/// several steps look like any block that stays. Buffers of a model that its first step makes count as workspace. Without
/// touches (rules 1, 5, 8) scratch memory counts as activation or gradient. Without stacks an optimizer's temporary blocks
/// count as activations. A model that is made inside the first step has its weights taken for workspace unless stacks tell.
/// Another framework's blocks (CuPy, RMM, Numba) get no category at all unless tagged.
namespace sluice::analysis {

enum class category : std::uint8_t { none, weight, gradient, optimizer_state, activation, input, workspace };
inline constexpr std::size_t category_count = 7;

/// "weight", ..., "not categorised": the words that tags use too.
[[nodiscard]] std::string_view category_name(category what);
/// none for a word that names no category.
[[nodiscard]] category category_of(std::string_view word);

/// Why a block has its category: what led to it.
enum class category_reason : std::uint8_t {
  none,
  tag,
  copied_from_host,
  copied_and_stays,
  model_stack,
  data_stack,
  optimizer_stack,
  backward_stack,
  backward_thread,
  stays_from_start,
  stays_from_first_step,
  one_launch,
  temporary,
};
/// "copied from the host, and lives on": for people.
[[nodiscard]] std::string_view words_of(category_reason why);

struct block_category {
  category what = category::none;
  category_reason why = category_reason::none;
  [[nodiscard]] bool exact() const { return why == category_reason::tag; }
};

/// What a program's code says about the blocks it asks for.
enum class clue : std::uint8_t { none, forward, backward, optimizer, model, data };

/// Reads stacks: the clue of a stack is that of its innermost frame that has one. Remembers what it found; O(1) amortised.
class stack_clues {
 public:
  explicit stack_clues(const trace::tables& tables) : tables_(tables) {}
  [[nodiscard]] clue of(trace::stack_id stack);
  /// Whether any frame is Python's.
  [[nodiscard]] bool in_python(trace::stack_id stack);
  /// Of one frame: by the file and the function of Python code, by the name of native code.
  [[nodiscard]] static clue of_frame(std::string_view file, std::string_view function);

 private:
  clue of_frame(trace::frame_id frame);
  const trace::tables& tables_;
  std::unordered_map<std::uint64_t, clue> stacks_;
  std::unordered_map<std::uint64_t, bool> python_;
  std::unordered_map<std::uint64_t, clue> frames_;
};

/// What the rules need to know of processes and threads as a whole. Takes blocks in any order; what it keeps does not grow with them.
class process_clues {
 public:
  explicit process_clues(const trace::tables& tables) : tables_(tables), clues_(tables) {}

  /// A block of a layer that holds tensors.
  void add(trace::process_id process, trace::thread_id thread, trace::stack_id stack, time_ns born);

  /// Some stack of the process' blocks says something.
  [[nodiscard]] bool stacks(trace::process_id process) const;
  /// Whether the thread is one that runs a backward pass, by its name, or because it has no Python in a process that has.
  [[nodiscard]] bool on_backward_thread(trace::process_id process, trace::thread_id thread) const;
  /// Birth of the first block of a backward thread; unknown_time: there is none. O(threads).
  [[nodiscard]] time_ns backward_began(trace::process_id process) const;

 private:
  struct process_facts {
    bool stacks = false;
    bool python = false;  ///< Some stack of its blocks has a Python frame.
    std::map<trace::thread_id, time_ns> first_births;
  };
  const trace::tables& tables_;
  stack_clues clues_;
  std::map<trace::process_id, process_facts> processes_;
  std::unordered_map<std::uint64_t, bool> python_threads_;  ///< Some stack of its blocks has a Python frame.
};

/// What blocks are judged by. What it names outlives the judge.
struct category_evidence {
  const process_clues& clues;
  const std::map<trace::process_id, step_list>& steps;
  const std::unordered_map<std::uint64_t, trace::string_id>& tags;  ///< Category tags by the allocation's event.
  const trace::tables& tables;
  time_range span;  ///< Of the recording.
};

/// Says what a block is for, given its whole life and all of its uses. O(log steps) a block. Not thread-safe.
class category_judge {
 public:
  explicit category_judge(const category_evidence& by) : by_(by), clues_(by.tables) {}
  [[nodiscard]] block_category of(const block_record& block, const block_touches& uses);

 private:
  /// What is known of a process, looked up once.
  struct process_facts {
    const step_list* steps = nullptr;
    bool stacks = false;
    time_ns backward_began = trace::unknown_time;
  };
  const process_facts& facts_of(trace::process_id process);
  bool on_backward_thread(const block_record& block);
  bool of_other_framework(const block_record& block);
  [[nodiscard]] bool stays(const block_record& block, const process_facts& of) const;
  block_category infer(const block_record& block, const block_touches& used);

  const category_evidence by_;
  stack_clues clues_;
  std::map<trace::process_id, process_facts> processes_;
  std::map<std::pair<trace::process_id, trace::thread_id>, bool> backward_;
  std::unordered_map<std::uint64_t, bool> foreign_;  ///< By the name's id.
};

/// The category of each block, at its position in `memory.blocks()`. O(blocks * log steps).
[[nodiscard]] std::vector<block_category> categorise(const memory_use& memory, const touch_index& touches,
                                                     const std::map<trace::process_id, step_list>& steps,
                                                     const std::unordered_map<std::uint64_t, trace::string_id>& tags,
                                                     const trace::tables& tables, time_range span);

/// Whether the layer's blocks are tensors, and get categories without tags.
[[nodiscard]] constexpr bool holds_tensors(trace::layer layer) { return layer == trace::layer::framework; }

}  // namespace sluice::analysis
