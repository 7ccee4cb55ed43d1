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

/// Infers the category of a framework's blocks: what a block is for, such as a weight or a gradient. Tags set by the
/// program are exact. All other categories must be shown as inferred.
///
/// Terms in the rules:
/// - Stack: the innermost frame with a clue (see `clue`).
/// - A block stays if it is live at the start of at least two steps. If no steps are known, a block stays if it is live
///   for over half of the time since the first block of the process.
/// - A block is early if it is allocated before the second step. If no steps are known, every block is early.
/// - Backward thread: a thread that PyTorch has named pt_autograd_*, or a thread that allocates but never runs Python,
///   in a process in which other threads run Python. A PyTorch snapshot has no thread names. There, a block without
///   Python frames counts as allocated by the backward thread if some stack of the process is backward and the block
///   was allocated during the recording.
/// - Network: a process has a network if it has a backward thread or a stack with a clue, or if the recording
///   contains the names of network operators ("aten::linear"), as traces of torch.profiler do.
/// - Library's block: cuBLAS and cuDNN allocate scratch memory for a thread, and keep it or free it after one call. A
///   block is a library's if one of these conditions is true:
///   - PyTorch code that creates workspaces requested it (`stack_clues::in_library`).
///   - It stays or is never freed. Eight or more matrix products or convolutions use it, but no copy and no other
///     kernel that does more than fill.
///   - Only such kernels use it, and its thread allocated no other block while it was live, so that no result was
///     computed from it.
///   - It stays or is never freed, has a workspace's size, and is not known to be read. It is also the first such block
///     of its thread, or is never used although uses are recorded.
///
/// The first matching rule determines the category:
///
///   1 the stack moves a model (Module._apply)     weight
///     the stack creates a model                   weight if the block stays or is never freed; else workspace
///   2 a copy from the host is its first use       weight if it stays, is early, and the last copy is in the first
///                                                 step; else input
///   3 the stack loads data                        input
///   4 the stack is an optimizer's                 optimizer state if the block stays or is never freed; else workspace
///   - the stack is the program's own module hook  activation
///   5 the stack, or else the thread, is backward  workspace if it is a library's; gradient if it stays; workspace if
///                                                 it is used only once; else gradient
///   - the process has no network                  no category
///   6 allocated in a module's forward pass        workspace if it is a library's or stays (allocated at a library's
///                                                 first call); if no steps are known, a block that stays is an
///                                                 activation
///   7 stays, allocated before the first step      weight
///   8 stays, is early                             workspace if stacks are recorded (allocated at a library's first
///                                                 call); else optimizer state if allocated after a backward thread's
///                                                 first block; else workspace
///   9 used only once (one launch or copy), or
///     a library's, used in only one call          workspace
///  10 otherwise                                   activation
///
/// Known errors:
/// - Gradients of activations count as gradients. Only their short lifetimes distinguish them from gradients of
///   weights.
/// - A result that is never read counts as a workspace.
/// - Gradients accumulated over several steps are treated like any block that stays.
/// - Model buffers created in the first step count as workspaces.
/// - If touches are not recorded (rules 2, 5, 8), scratch memory counts as an activation or a gradient.
/// - If stacks are not recorded, an optimizer's temporary blocks count as activations. Weights created in the first
///   step count as workspaces, and so do gradients that stay and whose only known uses are products.
/// - Blocks of CuPy, RMM and Numba need a tag to get a category.
namespace sluice::index {

/// What a block is for.
enum class category : std::uint8_t { none, weight, gradient, optimizer_state, activation, input, workspace };
inline constexpr std::size_t category_count = 7;

/// Returns the category's name: "weight", ..., "not categorised". Tags use the same names.
[[nodiscard]] std::string_view category_name(category wanted);
/// Returns the category called `word`; `category::none` if no category has that name.
[[nodiscard]] category find_category(std::string_view word);

/// The reason why a block was assigned its category.
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
/// Describes the reason to the user, for example "made by an optimizer".
[[nodiscard]] std::string_view get_words(category_reason why);

struct block_category {
  category kind = category::none;
  category_reason why = category_reason::none;
  [[nodiscard]] bool exact() const { return why == category_reason::tag; }
  /// True for memory that a library keeps for itself. The program cannot free such memory between two uses.
  [[nodiscard]] bool kept_by_library() const {
    return why == category_reason::library_stack || why == category_reason::products_only ||
           why == category_reason::workspace_size;
  }
};

/// What the code that requests a block appears to do.
enum class clue : std::uint8_t {
  none,
  forward,
  backward,
  optimizer,
  model,  ///< Creates a model.
  moved,  ///< Moves a model, or converts it to another type.
  data,
  hook  ///< Runs a hook of a module: a function of the program, other than `forward`, that runs when the module is
        ///< called.
};

/// Finds the clue of a stack, which is the clue of the innermost frame that has one. Caches results; O(1) amortized.
class stack_clues {
 public:
  explicit stack_clues(const trace::tables& tables) : tables_(tables) {}
  [[nodiscard]] clue of(trace::stack_id stack) { return find_meaning(stack).says; }
  /// True if the stack contains, inside the frame with the clue, PyTorch code that creates a workspace for cuBLAS or
  /// cuDNN.
  [[nodiscard]] bool in_library(trace::stack_id stack) { return find_meaning(stack).library; }
  /// True if the stack contains a Python frame.
  [[nodiscard]] bool in_python(trace::stack_id stack);
  /// Returns the clue of one frame. Python frames are recognized by file and function, native frames by function name,
  /// and torch.profiler ranges, which imported traces use as frames, by range name.
  [[nodiscard]] static clue of_frame(std::string_view file, std::string_view function);

 private:
  struct meaning {
    clue says = clue::none;
    bool library = false;
  };
  meaning find_meaning(trace::stack_id stack);
  meaning of_frame(trace::frame_id frame);
  const trace::tables& tables_;
  std::unordered_map<std::uint64_t, meaning> stacks_;
  std::unordered_map<std::uint64_t, bool> python_;
  std::unordered_map<std::uint64_t, meaning> frames_;
};

/// Collects facts about whole processes and threads from the allocations of their blocks. Blocks may be added in any
/// order. The memory that this object uses does not depend on the number of blocks.
class process_clues {
 public:
  explicit process_clues(const trace::tables& tables) : tables_(tables), clues_(tables) {}

  /// A block of a layer that holds tensors, as it was allocated.
  struct birth {
    trace::process_id process{};
    trace::thread_id thread{};
    trace::stream_id stream{};
    trace::stack_id stack{};
    time_ns born = 0;
    std::uint64_t bytes = 0;
    bool before = false;  ///< True if the block was allocated before the recording started, so that its stack is
                          ///< unknown.
  };
  void add(const birth& subject);

  /// True if any block of the process has a stack with a clue.
  [[nodiscard]] bool stacks(trace::process_id process) const;
  /// The code that requested a block, identified by its thread. If the thread is unknown, only whether the code runs
  /// Python is known.
  struct requester {
    trace::thread_id thread{};
    bool without_python = false;  ///< True if the code runs no Python. Only set if no thread is known.
    friend auto operator<=>(const requester&, const requester&) = default;
  };
  [[nodiscard]] static requester find_requester(const birth& subject, stack_clues& clues) {
    return {subject.thread,
            subject.thread == trace::thread_id::none && !subject.before && !clues.in_python(subject.stack)};
  }
  /// True if the requester runs backward passes: its thread has a name that says so, or it runs no Python although its
  /// process does.
  [[nodiscard]] bool on_backward_thread(trace::process_id process, const requester& by) const;
  /// True if the block has the size of a cuBLAS workspace, and is the first block with its requester, stream and size.
  [[nodiscard]] bool is_first_of_workspace_size(const birth& subject, const requester& by) const;
  /// Returns when the first block of a backward thread was allocated; unknown_time if there is none. O(threads).
  [[nodiscard]] time_ns backward_began(trace::process_id process) const;
  /// Returns when the process's first block was allocated; unknown_time if it has no blocks. O(threads).
  [[nodiscard]] time_ns began(trace::process_id process) const;

  /// Identifies a cuBLAS workspace. The last element is the block's size in bytes.
  using workspace_key = std::tuple<requester, trace::stream_id, std::uint64_t>;
  /// The facts about a process that determine the categories of its blocks.
  struct verdict {
    bool stacks = false;
    time_ns backward_began = trace::unknown_time;
    time_ns began = trace::unknown_time;
    std::map<requester, bool> backward;  ///< For each requester of blocks, whether it runs backward passes.
    std::map<workspace_key, time_ns> workspaces;
  };
  /// Returns the facts about each process that has a block. O(threads).
  [[nodiscard]] std::map<trace::process_id, verdict> verdicts() const;

 private:
  struct process_facts {
    bool stacks = false;
    bool python = false;          ///< True if the stack of some block has a Python frame.
    bool backward_stack = false;  ///< True if the stack of some block is backward.
    std::map<requester, time_ns> first_births;
    std::map<workspace_key, time_ns> workspaces;  ///< First allocation times of blocks that have the size of a
                                                  ///< workspace.
  };
  const trace::tables& tables_;
  stack_clues clues_;
  std::map<trace::process_id, process_facts> processes_;
  std::unordered_map<std::uint64_t, bool> python_threads_;  ///< Keyed by thread: whether the stack of one of its blocks
                                                            ///< has a Python frame.
};

[[nodiscard]] inline process_clues::birth find_birth(const block_record& block) {
  return {block.process, block.thread, block.stream, block.stack, block.born, block.bytes, block.born_before()};
}

/// Returns the clues of all blocks that hold tensors. O(blocks).
[[nodiscard]] process_clues collect_clues(const memory_use& memory, const trace::tables& tables);

/// The inputs of `category_judge`. All objects that the references name must outlive the judge.
struct category_evidence {
  const process_clues& clues;
  const std::map<trace::process_id, step_list>& steps;
  const std::unordered_map<std::uint64_t, trace::string_id>& tags;  ///< Category tags, keyed by the id of the
                                                                    ///< allocation event.
  const trace::tables& tables;
  time_range span;          ///< Time range of the whole recording.
  bool uses_known = false;  ///< True if the recording contains touches.
};

/// Finds tensor blocks during whose lifetimes their thread allocated no other block. Keeps the allocation times of the
/// blocks. Sections must be added in order of time.
class birth_order {
 public:
  /// Must be called for each block allocated in the section. After that, `settle` must be called before any query.
  void add(const block_record& block);
  void settle();
  /// True if the block's thread allocated no other block during the block's lifetime. The block must have been freed in
  /// the current section. O(log blocks).
  [[nodiscard]] bool is_alone(const block_record& block) const;
  /// Starts the next section. Discards everything about the current section except each thread's last allocation.
  void next_section();

 private:
  using thread_key = std::pair<trace::process_id, trace::thread_id>;
  using birth = std::pair<time_ns, trace::block_id>;
  struct of_thread {
    std::vector<birth> here;
    birth before{-latest_time - 1, {}};  ///< The thread's last allocation in earlier sections.
  };
  std::map<thread_key, of_thread> threads_;
  of_thread* last_ = nullptr;  ///< The thread of the last added block, because the next block usually has the same
                               ///< thread. Null after `settle`.
  thread_key last_key_;
};

/// Determines a block's category from its whole lifetime and all its uses. O(log steps) per block. Not thread-safe.
class category_judge {
 public:
  explicit category_judge(const category_evidence& by);
  /// `alone`: the result of `birth_order::is_alone`, which matters only if `asks_if_alone` is true.
  [[nodiscard]] block_category of(const block_record& block, const block_touches& uses, bool alone);
  [[nodiscard]] static bool asks_if_alone(const block_record& block, const block_touches& uses);
  /// Returns how long the category of a freed block is final. If the recording were longer and all other evidence
  /// stayed the same, `of` could return another category. The result is the earliest end of the recording for which
  /// that may happen; `latest_time` if there is none. O(1).
  [[nodiscard]] time_ns holds_until(const block_record& block);
  /// True if some text in the recording is the name of a network operator. This is part of the evidence.
  [[nodiscard]] bool names_operators() const { return names_operators_; }
  /// True if uses of blocks are known. This is part of the evidence.
  [[nodiscard]] bool uses_known() const { return by_.uses_known; }

 private:
  /// Facts about a process, cached on first use.
  struct process_facts {
    const step_list* steps = nullptr;
    bool stacks = false;
    time_ns backward_began = trace::unknown_time;
    time_ns began = 0;  ///< Allocation time of the first block.
  };
  [[nodiscard]] bool is_network(const process_facts& facts) const {
    return facts.stacks || facts.backward_began != trace::unknown_time || names_operators_;
  }
  const process_facts& get_facts(trace::process_id process);
  bool on_backward_thread(const block_record& block);
  bool of_other_framework(const block_record& block);
  [[nodiscard]] bool stays(const block_record& block, const process_facts& facts) const;
  category_reason is_of_library(const block_record& block, const block_touches& used, bool alone, bool lasts);
  block_category infer(const block_record& block, const block_touches& used, bool alone);

  const category_evidence by_;
  stack_clues clues_;
  const bool names_operators_;  ///< True if some text of the recording is the name of a network operator.
  std::map<trace::process_id, process_facts> processes_;
  std::map<std::pair<trace::process_id, process_clues::requester>, bool> backward_;
  std::unordered_map<std::uint64_t, bool> foreign_;  ///< Keyed by the id of a block's name: whether the block belongs
                                                     ///< to another framework.
};

/// True if `now` contains every verdict in `before`, unchanged. `now` may have more processes.
[[nodiscard]] bool judged_alike(const std::map<trace::process_id, process_clues::verdict>& before,
                                const std::map<trace::process_id, process_clues::verdict>& now);

/// Returns the category of each block, indexed by position in `memory.blocks()`. O(blocks * log steps).
[[nodiscard]] std::vector<block_category> categorise(const memory_use& memory, const touch_index& touches,
                                                     const process_clues& clues,
                                                     const std::map<trace::process_id, step_list>& steps,
                                                     const std::unordered_map<std::uint64_t, trace::string_id>& tags,
                                                     const trace::tables& tables, time_range span);

/// True if the layer's blocks hold tensors. The category of such a block is inferred if the block has no tag.
[[nodiscard]] constexpr bool holds_tensors(trace::layer layer) { return layer == trace::layer::framework; }

}  // namespace sluice::index
