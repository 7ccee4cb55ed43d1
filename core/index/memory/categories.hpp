#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/work/steps.hpp"
#include "core/trace/model/tables.hpp"

/// Infers what a framework's blocks are for. Tags set by the program are exact; all else must be shown as inferred.
///
/// The first matching rule wins. "Stack" means the innermost frame with a clue (see `clue`). "Stays": the block lives
/// over the beginning of two steps or more (without known steps: over half of the time from the process's first block
/// on). "Early": born before the second step (without known steps: always). "Backward thread": named pt_autograd_* by
/// PyTorch, or a thread that allocates but never runs Python, in a process whose other threads do. A snapshot of PyTorch
/// names no threads: there a block without Python frames is of the backward thread, if some stack of the process is
/// backward and the block was born in the recording. "A network": the process has a backward thread, or some stack with a clue, or the recording names operators of
/// networks ("aten::linear"), as torch.profiler's traces do. "A library's": cuBLAS and cuDNN take scratch memory for a thread,
/// and keep it or free it after one call. Such a block
///   - was requested by code of PyTorch that makes workspaces (`stack_clues::in_library`), or
///   - stays or is never freed, and is named by eight or more matrix products or convolutions and no other kernel that does
///     more than fill, nor by a copy, or
///   - is named by such kernels only, and no other block of its thread was born while it lived: no result was made of it, or
///   - stays or is never freed, has a workspace's size, is not known to be read, and is the first such block of its thread or is
///     never named where uses are recorded.
///
///   1 the stack moves a model (Module._apply)     weight
///     the stack makes a model                     stays, or is never freed: weight; else workspace
///   2 a copy from the host is its first use       weight if it stays, is early, and the last copy is in the first
///                                                 step; else input
///   3 the stack loads data                        input
///   4 the stack is an optimizer's                 stays, or is never freed: optimizer state; else workspace
///   - the program's own hook of a module          activation
///   5 the stack, or else the thread, is backward  a library's: workspace; stays: gradient; used only once: workspace; else
///                                                 gradient
///   - no network                                  no category
///   6 born in a module's forward pass             a library's, or stays: workspace (made at a library's first call); without
///                                                 known steps, what stays is an activation
///   7 stays, born before the first step           weight
///   8 stays, early                                with stacks: workspace (made at a library's first call); without,
///                                                 born after a backward thread's first block: optimizer state; else
///                                                 workspace
///   9 used only once (one launch or copy), or
///     a library's that lived for one call         workspace
///  10 otherwise                                   activation
///
/// Known errors. Gradients of activations count as gradients: only their short lives tell them from those of weights. A
/// result that is never read counts as workspace. Gradients summed up over several steps look like any block that
/// stays. Model buffers made in the first step count as workspace. Without touches (rules 2, 5, 8) scratch memory
/// counts as activation or gradient. Without stacks, an optimizer's temporary blocks count as activations, and weights
/// made in the first step as workspace; gradients that stay and of which products are the only known use, too. Blocks of CuPy, RMM and Numba need a tag to get a category.
namespace sluice::analysis {

enum class category : std::uint8_t { none, weight, gradient, optimizer_state, activation, input, workspace };
inline constexpr std::size_t category_count = 7;

/// Returns the category's name: "weight", ..., "not categorised". Tags use the same words.
[[nodiscard]] std::string_view category_name(category what);
/// Returns the category of that name; `category::none` for an unknown word.
[[nodiscard]] category category_of(std::string_view word);

/// The reason why a block has its category.
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
  hook,
  library_stack,
  products_only,
  lived_alone,
  workspace_size,
};
inline constexpr std::size_t category_reason_count = 18;
/// A description for people, such as "made by an optimizer".
[[nodiscard]] std::string_view words_of(category_reason why);

struct block_category {
  category what = category::none;
  category_reason why = category_reason::none;
  [[nodiscard]] bool exact() const { return why == category_reason::tag; }
  /// True for what a library keeps for itself: no program can give it back between two uses.
  [[nodiscard]] bool kept_by_library() const {
    return why == category_reason::library_stack || why == category_reason::products_only ||
           why == category_reason::workspace_size;
  }
};

/// What the code that requests a block appears to be doing.
enum class clue : std::uint8_t {
  none,
  forward,
  backward,
  optimizer,
  model,  ///< Makes a model.
  moved,  ///< Moves one, or makes it of another type.
  data,
  hook  ///< A hook of a module: a function of the program's own, other than `forward`, that the module's call calls.
};

/// Finds the clue of a stack: that of its innermost frame that has one, or is a hook. Caches results; O(1) amortized.
class stack_clues {
 public:
  explicit stack_clues(const trace::tables& tables) : tables_(tables) {}
  [[nodiscard]] clue of(trace::stack_id stack) { return meaning_of(stack).says; }
  /// True if, inside of the frame with the clue, code of PyTorch makes a workspace for cuBLAS or cuDNN.
  [[nodiscard]] bool in_library(trace::stack_id stack) { return meaning_of(stack).library; }
  /// True if any frame is a Python frame.
  [[nodiscard]] bool in_python(trace::stack_id stack);
  /// The clue of one frame: Python code by file and function, native code by function name, and ranges of torch.profiler,
  /// which imported traces have for frames, by their name.
  [[nodiscard]] static clue of_frame(std::string_view file, std::string_view function);

 private:
  struct meaning {
    clue says = clue::none;
    bool library = false;
  };
  meaning meaning_of(trace::stack_id stack);
  meaning of_frame(trace::frame_id frame);
  const trace::tables& tables_;
  std::unordered_map<std::uint64_t, meaning> stacks_;
  std::unordered_map<std::uint64_t, bool> python_;
  std::unordered_map<std::uint64_t, meaning> frames_;
};

/// Facts about whole processes and threads. Blocks may be added in any order; memory does not grow with their number.
class process_clues {
 public:
  explicit process_clues(const trace::tables& tables) : tables_(tables), clues_(tables) {}

  /// A block of a layer that holds tensors.
  struct birth {
    trace::process_id process{};
    trace::thread_id thread{};
    trace::stream_id stream{};
    trace::stack_id stack{};
    time_ns born = 0;
    std::uint64_t bytes = 0;
    bool before = false;  ///< Before the recording: then nothing is known of its stack.
  };
  void add(const birth& of);

  /// True if a stack of any block of the process has a clue.
  [[nodiscard]] bool stacks(trace::process_id process) const;
  /// Who requests a block: a thread, or where none is known, what runs Python and what does not.
  struct requester {
    trace::thread_id thread{};
    bool without_python = false;  ///< Only if no thread is known.
    friend auto operator<=>(const requester&, const requester&) = default;
  };
  [[nodiscard]] static requester requester_of(const birth& of, stack_clues& clues) {
    return {of.thread, of.thread == trace::thread_id::none && !of.before && !clues.in_python(of.stack)};
  }
  /// True if it runs backward passes: by the thread's name, or because it runs no Python in a process that does.
  [[nodiscard]] bool on_backward_thread(trace::process_id process, const requester& by) const;
  /// True if the block is the first of its requester, stream and size, and has the size of a workspace of cuBLAS.
  [[nodiscard]] bool is_first_of_workspace_size(const birth& of, const requester& by) const;
  /// Birth of the first block of a backward thread; unknown_time if there is none. O(threads).
  [[nodiscard]] time_ns backward_began(trace::process_id process) const;
  /// Birth of the process's first block; unknown_time if it has none. O(threads).
  [[nodiscard]] time_ns began(trace::process_id process) const;

  /// The last is the block's bytes.
  using workspace_key = std::tuple<requester, trace::stream_id, std::uint64_t>;
  /// What this says of a process, by which blocks are judged.
  struct verdict {
    bool stacks = false;
    time_ns backward_began = trace::unknown_time;
    time_ns began = trace::unknown_time;
    std::map<requester, bool> backward;  ///< Each that requests a block: it runs backward passes.
    std::map<workspace_key, time_ns> workspaces;
  };
  /// Of all processes with a block. O(threads).
  [[nodiscard]] std::map<trace::process_id, verdict> verdicts() const;

 private:
  struct process_facts {
    bool stacks = false;
    bool python = false;          ///< Some block's stack has a Python frame.
    bool backward_stack = false;  ///< Some block's stack is backward.
    std::map<requester, time_ns> first_births;
    std::map<workspace_key, time_ns> workspaces;  ///< First births of blocks that have the size of a workspace.
  };
  const trace::tables& tables_;
  stack_clues clues_;
  std::map<trace::process_id, process_facts> processes_;
  std::unordered_map<std::uint64_t, bool> python_threads_;  ///< By thread: some block's stack has a Python frame.
};

[[nodiscard]] inline process_clues::birth birth_of(const block_record& block) {
  return {block.process, block.thread, block.stream, block.stack, block.born, block.bytes, block.born_before()};
}

/// The clues of all blocks that are tensors. O(blocks).
[[nodiscard]] process_clues clues_of(const memory_use& memory, const trace::tables& tables);

/// The inputs of `category_judge`. Everything referred to must outlive the judge.
struct category_evidence {
  const process_clues& clues;
  const std::map<trace::process_id, step_list>& steps;
  const std::unordered_map<std::uint64_t, trace::string_id>& tags;  ///< Category tags, by id of the allocation event.
  const trace::tables& tables;
  time_range span;          ///< Time range of the whole recording.
  bool uses_known = false;  ///< The recording has touches.
};

/// The births of some blocks that are tensors, to tell which live while no other block of their thread is born. Blocks that
/// come section after section, in order of time, are added to those of the sections before.
class birth_order {
 public:
  /// Call for each block that is born in the section, before any question, then `settle`.
  void add(const block_record& block);
  void settle();
  /// True if no other block of the thread was born from this block's birth to its end. It must have ended in this section.
  /// O(log blocks).
  [[nodiscard]] bool is_alone(const block_record& block) const;
  /// Forgets all of this section but each thread's last birth.
  void next_section();

 private:
  using thread_key = std::pair<trace::process_id, trace::thread_id>;
  using birth = std::pair<time_ns, trace::block_id>;
  struct of_thread {
    std::vector<birth> here;
    birth before{-latest_time - 1, {}};  ///< The last one of earlier sections.
  };
  std::map<thread_key, of_thread> threads_;
  of_thread* last_ = nullptr;  ///< Between `add` and `settle`: the next block usually is of the same thread.
  thread_key last_key_;
};

/// Determines a block's category from its whole life and all of its uses. O(log steps) per block. Not thread-safe.
class category_judge {
 public:
  explicit category_judge(const category_evidence& by);
  /// `alone`: see `birth_order::is_alone`; it matters only if `asks_if_alone`.
  [[nodiscard]] block_category of(const block_record& block, const block_touches& uses, bool alone);
  [[nodiscard]] static bool asks_if_alone(const block_record& block, const block_touches& uses);
  /// The least end of a longer recording at which `of` may judge a block that was freed otherwise, if all other evidence
  /// stays; `latest_time` if none may. O(1).
  [[nodiscard]] time_ns holds_until(const block_record& block);
  /// Part of the evidence: some text of the recording is the name of a network's operator.
  [[nodiscard]] bool names_operators() const { return names_operators_; }
  /// Part of the evidence, too.
  [[nodiscard]] bool uses_known() const { return by_.uses_known; }

 private:
  /// Facts about a process, looked up once.
  struct process_facts {
    const step_list* steps = nullptr;
    bool stacks = false;
    time_ns backward_began = trace::unknown_time;
    time_ns began = 0;  ///< Birth of the first block.
  };
  [[nodiscard]] bool is_network(const process_facts& of) const {
    return of.stacks || of.backward_began != trace::unknown_time || names_operators_;
  }
  const process_facts& facts_of(trace::process_id process);
  bool on_backward_thread(const block_record& block);
  bool of_other_framework(const block_record& block);
  [[nodiscard]] bool stays(const block_record& block, const process_facts& of) const;
  category_reason is_of_library(const block_record& block, const block_touches& used, bool alone, bool lasts);
  block_category infer(const block_record& block, const block_touches& used, bool alone);

  const category_evidence by_;
  stack_clues clues_;
  const bool names_operators_;  ///< Some text of the recording is the name of a network's operator.
  std::map<trace::process_id, process_facts> processes_;
  std::map<std::pair<trace::process_id, process_clues::requester>, bool> backward_;
  std::unordered_map<std::uint64_t, bool> foreign_;  ///< By the id of a block's name: it is of another framework.
};

/// True if all that was known `before` about processes is `now` the same; others may have come.
[[nodiscard]] bool judged_alike(const std::map<trace::process_id, process_clues::verdict>& before,
                                const std::map<trace::process_id, process_clues::verdict>& now);

/// The category of each block, by position in `memory.blocks()`. O(blocks * log steps).
[[nodiscard]] std::vector<block_category> categorise(const memory_use& memory, const touch_index& touches,
                                                     const process_clues& clues,
                                                     const std::map<trace::process_id, step_list>& steps,
                                                     const std::unordered_map<std::uint64_t, trace::string_id>& tags,
                                                     const trace::tables& tables, time_range span);

/// True if blocks of the layer are tensors, whose categories are inferred if they have no tag.
[[nodiscard]] constexpr bool holds_tensors(trace::layer layer) { return layer == trace::layer::framework; }

}  // namespace sluice::analysis
