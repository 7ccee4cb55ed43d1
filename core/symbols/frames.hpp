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

/// Frames of stacks as people read them. The report, the window and every list of stacks use these words.
namespace sluice::symbols {

/// One line of a stack: a Python frame, or a native function (an inlined one is a line of its own).
struct frame_line {
  trace::frame_kind kind = trace::frame_kind::unknown;
  std::string function;  ///< Demangled; empty if not known.
  std::string file;      ///< Source file, as recorded or as debug information says.
  std::uint64_t line = 0;
  std::string module;         ///< Path of the native code's file.
  std::uint64_t address = 0;  ///< Of a native frame without a name: in the module.
  bool inlined = false;
  bool own = false;     ///< The program's own code, not a library's or the interpreter's: see `is_own_file`.
  std::string missing;  ///< Why a native frame has no name: "another build of libfoo.so is here". Empty: it has one.
  std::string
      source;  ///< The line of source, if it is in the recording or unchanged on this machine; without its indent.
  friend bool operator==(const frame_line&, const frame_line&) = default;
};

/// "forward", "libfoo.so+0x12ab": what runs.
[[nodiscard]] std::string name_of(const frame_line& line);
/// "nn/linear.py:114", "kernels.cu:20", "libfoo.so": where, in little room; empty if not known.
[[nodiscard]] std::string place_of(const frame_line& line);
/// "forward at /usr/lib/.../linear.py:114": all of it, and why something is missing, in one line of text.
[[nodiscard]] std::string text_of(const frame_line& line);

/// Whether a source file or a module is the program's own: not under a directory of the system, of Python or of its packages,
/// and not the interpreter. What a path can tell, and no more.
[[nodiscard]] bool is_own_file(trace::frame_kind kind, std::string_view path);

/// The line to name for a stack (innermost first): the innermost one of the program's own Python code, else of its own native
/// code (one whose name is known first), else any Python line, else the innermost with a function's name. The index in `stack`, or its size if it is empty.
[[nodiscard]] std::size_t line_to_name(std::span<const frame_line* const> stack);

using line_id = std::uint32_t;

/// Said where a stack goes on but is not followed.
inline constexpr std::string_view cut_remark = "(cut: deeper than any recorder walks, or a ring)";

struct frame_book_options {
  resolver_options symbols;  ///< And which of this machine's files may be read, also for sources.
  /// CLOCK_REALTIME ns of the recording's begin: sources changed since then are not shown. 0: not known, all are.
  std::int64_t recorded_at = 0;
};

/// For the frames of `trace`: its sources and symbols as far as it is trusted (snapshot::local).
[[nodiscard]] frame_book_options options_for(const trace::snapshot& trace);

/// A line for the user if `trace` has frames whose source or symbols are not looked for because it is not trusted.
[[nodiscard]] std::optional<std::string> untrusted_note(const trace::snapshot& trace);

/// The lines of a recording's frames, each looked up once. Thread-safe.
class frame_book {
 public:
  explicit frame_book(frame_book_options options = {});

  /// `at_once` looks native symbols up in the call and may read large files: for tasks nobody waits for, and for the command
  /// line. `later` gives the module and the address of what is not known yet, and notes that it is wanted for `work`.
  enum class patience : std::uint8_t { at_once, later };

  struct frame_lines {
    std::vector<line_id> ids;  ///< Innermost first; none of a frame of the recorder, which is no part of the program.
    bool provisional = false;  ///< Symbols are still to be looked up.
  };
  [[nodiscard]] frame_lines lines_of(trace::frame_id frame, const trace::tables& tables, patience how);

  /// A line that stands for no frame: "no stack recorded".
  [[nodiscard]] line_id remark(std::string_view words);

  /// Whether the line is the program's own, or a remark.
  [[nodiscard]] bool is_own(line_id id);

  /// What the book knows about each line, with its source text.
  [[nodiscard]] std::vector<frame_line> describe(std::span<const line_id> ids, const trace::tables& tables);
  /// The same for all lines of a stack, innermost first: at most `deepest` frames, and a remark where more were left out.
  [[nodiscard]] std::vector<frame_line> stack(trace::stack_id id, const trace::tables& tables, patience how,
                                              bool* provisional = nullptr);
  /// The line to name for a stack, by `line_to_name`. Native symbols are looked up only where no Python line of the program's
  /// own decides it.
  [[nodiscard]] line_id line_of(trace::stack_id id, const trace::tables& tables, patience how,
                                bool* provisional = nullptr);
  /// No recorder walks further; bounds what a file whose parents form a ring costs.
  static constexpr std::size_t deepest = 2048;

  /// Looks up symbols that are wanted until `deadline`, at least one. True while more are wanted.
  bool work(std::chrono::steady_clock::time_point deadline);
  /// Some are wanted and nobody works on them yet; the caller that gets true is to see that `work` is called.
  [[nodiscard]] bool wants_work();
  /// Grows when symbols have been found.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct wish {
    std::uint64_t frame = 0;
    std::string module;
    std::string build_id;
    std::uint64_t address = 0;
  };

  // The caller holds `mutex_`.
  line_id put(frame_line&& line);
  void learn_modules(const trace::tables& tables);
  const frame_lines& put_native(const wish& about, const resolution* found);
  [[nodiscard]] std::vector<line_id> lines_of_stack(trace::stack_id id, const trace::tables& tables, patience how,
                                                    bool* provisional);
  const std::string& local_file(const std::string& path);
  void put_sources(std::vector<frame_line>& into, const trace::tables& tables);

  const frame_book_options options_;
  resolver resolver_;
  std::atomic<std::uint64_t> generation_{0};
  std::mutex mutex_;  ///< Of all below; never held while symbols are looked up or a file is read.
  std::deque<frame_line> lines_;
  std::unordered_map<std::string, line_id> by_text_;
  std::unordered_map<std::uint64_t, frame_lines> by_frame_;
  std::deque<wish> wishes_;
  bool working_ = false;
  std::unordered_map<std::uint64_t, std::string> build_ids_;  ///< By the string id of the module's path.
  std::size_t modules_seen_ = 0;
  std::mutex source_mutex_;
  std::unordered_map<std::string, std::string> local_;  ///< By path.
};

}  // namespace sluice::symbols
