#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/index/work/copy_contents.hpp"
#include "core/symbols/frames.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Copies that moved to a device what had been moved there before, found by the hashes of `sluice record --find-duplicates`. That
/// it still lay there cannot be told: a kernel may have written over it, or its block been freed.
namespace sluice::analysis {

class index;
struct naming;

struct copy_figures {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  time_ns busy = 0;  ///< The sum of their lengths.

  /// Stays at the highest number instead of wrapping, whatever a file says.
  void add(const copy_figures& more);
  friend bool operator==(const copy_figures&, const copy_figures&) = default;
};

/// Copies of content that had been moved to the same device before.
struct repeat_figures {
  copy_figures all;
  copy_figures same_source;       ///< Of those: from an address that it had come from before, and lay at unchanged.
  copy_figures same_destination;  ///< Of those: to where it had gone before, in the same block.
  copy_figures exact;             ///< Of those: shown by all of their bytes; the others by a sample.

  void add(const repeat_figures& more);
};

/// The repeated copies that a line of the program asked for.
struct repeating_line {
  symbols::frame_line line;
  repeat_figures figures;
  std::vector<symbols::frame_line> stack;  ///< Of the stack that repeated most bytes, innermost first.
  trace::event_id largest{};               ///< One of the copies, the largest.
};

struct duplicate_copies {
  // Host-to-device copies that began in the range, by what is known of their content. Copies in graphs and in batches are in none.
  copy_figures exact, sampled;
  copy_figures over_budget;  ///< Not hashed: that would have taken more time than it may.
  copy_figures unreadable;   ///< Not hashed: the host cannot read the source.
  copy_figures overtaken;  ///< Hashed, but the device wrote into the source before it was copied; counted in no other.

  std::uint64_t graph_launches = 0;  ///< Of graphs that copy: what those copies move is not looked at.

  repeat_figures repeated;
  std::vector<repeating_line> lines;  ///< Most bytes first, at most `line_limit`.
  repeat_figures other_lines;         ///< Beyond the limit.
  repeat_figures without_stack;
  trace::event_id largest{};  ///< Of the repeated copies.

  static constexpr std::size_t line_limit = 8;

  /// Whether anybody looked at the contents of copies.
  [[nodiscard]] bool looked() const {
    return exact.copies + sampled.copies + over_budget.copies + unreadable.copies + overtaken.copies > 0;
  }
  [[nodiscard]] copy_figures hashed() const;
};

/// The repeated copies that a stack asked for.
struct repeating_stack {
  trace::stack_id stack{};  ///< None: no stack was recorded.
  repeat_figures figures;
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// The same before lines are named.
struct duplicate_figures {
  duplicate_copies all;  ///< Without `lines`, `other_lines` and `without_stack`, which come of the stacks.
  std::vector<repeating_stack> stacks;  ///< By their id.
};

/// Of the copies that began in a range; what they repeat may have been moved before it. Their stacks, and how often graphs were
/// launched, are gathered from indexes of parts of the recording.
class duplicate_gatherer {
 public:
  /// `contents` is of the whole recording, and outlives this. O(copies log copies).
  duplicate_gatherer(const copy_contents& contents, time_range range);

  /// What `from` tells of its run. O(repeated copies in it * log calls).
  void add(const index& from, time_range run);
  [[nodiscard]] duplicate_figures figures() const;

 private:
  struct repeat {
    const content_copy* copy = nullptr;
    repeat_figures figures;
  };
  void add_content(std::span<const content_copy> copies);
  void count(const content_copy& copy, bool overtaken);
  void add_repeat(const content_copy& copy, bool same_source, bool same_destination);
  static void add(repeating_stack& to, const repeat& one);

  const copy_contents& contents_;
  const time_range range_;
  std::vector<repeat> repeats_;  ///< By their begin.
  std::map<trace::stack_id, repeating_stack> stacks_;
  repeating_stack whole_;
  duplicate_copies found_;
};

/// With the lines that the stacks are named after. O(stacks).
[[nodiscard]] duplicate_copies name_duplicates(const duplicate_figures& figures, const trace::tables& tables,
                                               const naming& names);

}  // namespace sluice::analysis
