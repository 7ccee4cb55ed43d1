#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/symbols/resolver.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::trace {
class snapshot;
}

/// Stack frames in readable form. The report, the window and every list of stacks use this wording.
namespace sluice::symbols {

/// One line of a stack: a Python frame or a native function. An inlined function has a line of its own.
struct frame_line {
  trace::frame_kind kind = trace::frame_kind::unknown;
  std::string function;  ///< Demangled; empty if unknown.
  std::string file;      ///< Source file as recorded, or from the debug information.
  std::uint64_t line = 0;
  std::string module;         ///< Path of the file that contains the native code.
  std::uint64_t address = 0;  ///< For a native frame without a name: its address in the module.
  bool inlined = false;
  bool own = false;     ///< Code of the recorded program, not of a library or the interpreter: see `is_own_file`.
  std::string missing;  ///< Why a native frame has no name: "another build of libfoo.so is here". Empty if named.
  std::string
      source;  ///< The line of source without indentation, if recorded or unchanged on this machine; else empty.
  friend bool operator==(const frame_line&, const frame_line&) = default;
};

/// Returns the name of the code that runs, for example "forward" or "libfoo.so+0x12ab".
[[nodiscard]] std::string name_of(const frame_line& line);
/// A short location, for example "nn/linear.py:114", "kernels.cu:20" or "libfoo.so"; empty if unknown.
[[nodiscard]] std::string place_of(const frame_line& line);
/// The short location and the name, as lists show a line and filters find it: "nn/linear.py:114, forward".
[[nodiscard]] std::string place_and_name_of(const frame_line& line);
/// Returns name and full location, "forward at /usr/lib/.../linear.py:114", and why a name is missing.
[[nodiscard]] std::string text_of(const frame_line& line);

/// Returns the index of the line that stands for `stack` (innermost first): the first line that is Python code of the
/// program, else named code of the program, else code of the program, else Python, else named, else index 0.
[[nodiscard]] std::size_t line_to_name(std::span<const frame_line* const> stack);

using line_id = std::uint32_t;

/// Shown where the rest of a stack is omitted.
inline constexpr std::string_view cut_remark = "(cut: deeper than any recorder walks, or a ring)";

struct frame_book_options {
  resolver_options symbols;  ///< Also decides which local files may be read for sources.
  /// CLOCK_REALTIME ns at the start of the recording: sources modified later are not shown. 0 (unknown): all are shown.
  std::int64_t recorded_at = 0;
};

/// Returns the options for frames of `trace`: sources and symbols are read only where `snapshot::local` allows it.
[[nodiscard]] frame_book_options options_for(const trace::snapshot& trace);

/// Returns a note for the user if source or symbols of frames are not looked up because `trace` is not trusted.
[[nodiscard]] std::optional<std::string> untrusted_note(const trace::snapshot& trace);

/// The readable lines of a recording's frames; each frame is looked up once. Thread-safe.
class frame_book {
 public:
  explicit frame_book(frame_book_options options = {});

  /// `at_once`: looks up native symbols during the call and may read large files; for background tasks and the command
  /// line. `later`: returns module and address where no symbol is known yet, and queues the lookup for `work`.
  enum class lookup : std::uint8_t { at_once, later };

  struct frame_lines {
    std::vector<line_id> ids;  ///< Innermost first. Empty for a frame of the recorder itself.
    bool provisional = false;  ///< Some symbols have not been looked up yet.
  };
  [[nodiscard]] frame_lines lines_of(trace::frame_id frame, const trace::tables& tables, lookup how);

  /// Returns the id of a line without a frame, with a text such as "no stack recorded".
  [[nodiscard]] line_id remark(std::string_view words);

  /// Returns the id of a line; equal lines have equal ids.
  [[nodiscard]] line_id add(frame_line line);
  /// Returns a line without its source text; an empty one for an unknown id.
  [[nodiscard]] frame_line line(line_id id);

  /// True if the line is the recorded program's own code, or a remark.
  [[nodiscard]] bool is_own(line_id id);

  /// Returns each line with its source text, in the order of `ids`.
  [[nodiscard]] std::vector<frame_line> describe(std::span<const line_id> ids, const trace::tables& tables);
  /// Returns all lines of a stack, innermost first, with source text: at most `deepest` frames, then a remark if cut.
  [[nodiscard]] std::vector<frame_line> stack(trace::stack_id id, const trace::tables& tables, lookup how,
                                              bool* provisional = nullptr);
  /// Returns the line that stands for a stack (see `line_to_name`). Looks up native symbols only if the stack has no
  /// Python line of the program's own.
  [[nodiscard]] line_id line_of(trace::stack_id id, const trace::tables& tables, lookup how,
                                bool* provisional = nullptr);
  /// Returns the ids of all lines of a stack, as `stack` has them.
  [[nodiscard]] std::vector<line_id> lines_of_stack(trace::stack_id id, const trace::tables& tables, lookup how,
                                                    bool* provisional);
  /// The depth limit of all recorders. Bounds the cost of a damaged file whose stacks form a cycle.
  static constexpr std::size_t deepest = 2048;

  /// Looks up queued symbols until `deadline`, at least one symbol. Returns true while more symbols are queued.
  bool work(std::chrono::steady_clock::time_point deadline);
  /// True if symbols are queued and no thread works on them. A caller that gets true must arrange a call of `work`.
  [[nodiscard]] bool wants_work();
  /// Increases whenever symbols have been found.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct wish {
    std::uint64_t frame = 0;
    std::string module;
    std::string build_id;
    std::uint64_t address = 0;
  };

  // Callers of `put`, `learn_modules` and `put_native` hold `mutex_`; those of `local_file` hold `source_mutex_`.
  line_id put(frame_line&& line);
  void learn_modules(const trace::tables& tables);
  const frame_lines& put_native(const wish& about, const resolution* found);
  const std::string& local_file(const std::string& path);
  void put_sources(std::vector<frame_line>& into, const trace::tables& tables);

  const frame_book_options options_;
  resolver resolver_;
  std::atomic<std::uint64_t> generation_{0};
  std::mutex mutex_;  ///< Protects all members below, up to `source_mutex_`. Never held during a lookup or file access.
  std::deque<frame_line> lines_;
  std::unordered_map<std::string, line_id> by_text_;
  std::unordered_map<std::uint64_t, frame_lines> by_frame_;
  std::deque<wish> wishes_;
  bool working_ = false;
  std::unordered_map<std::uint64_t, std::string> build_ids_;  ///< Build ids, by the string id of the module's path.
  std::size_t modules_seen_ = 0;
  std::mutex source_mutex_;
  std::unordered_map<std::string, std::string> local_;  ///< Contents of local source files, by path.
};

}  // namespace sluice::symbols
