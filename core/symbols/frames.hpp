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

/// Stack frames as readable text. The report, the window and every list of stacks use the same wording.
namespace sluice::symbols {

/// One line of a displayed stack: a Python frame or a native function. An inlined function has its own line.
struct frame_line {
  trace::frame_kind kind = trace::frame_kind::unknown;
  std::string function;  ///< Demangled; empty if unknown.
  std::string file;      ///< The source file as recorded, or as named by the debug information.
  std::uint64_t line = 0;
  std::string module;         ///< The path of the file that contains the native code.
  std::uint64_t address = 0;  ///< For a native frame without a name: its address, relative to the module.
  bool inlined = false;
  bool own = false;     ///< True for code of the recorded program, not of a library or the interpreter: see
                        ///< `is_own_file`.
  std::string missing;  ///< Why a native frame has no name, for example "another build of libfoo.so is here". Empty if
                        ///< the frame has a name.
  std::string source;   ///< The source line, without its indentation, if it was recorded or the file on this machine is
                        ///< unchanged; else empty.
  friend bool operator==(const frame_line&, const frame_line&) = default;
};

/// Returns the name of the code, for example "forward" or "libfoo.so+0x12ab".
[[nodiscard]] std::string get_name(const frame_line& line);
/// Returns a short location, for example "nn/linear.py:114", "kernels.cu:20" or "libfoo.so"; empty if unknown.
[[nodiscard]] std::string get_place(const frame_line& line);
/// Returns the short location and the name, as lists show a line and as filters match it: "nn/linear.py:114, forward".
[[nodiscard]] std::string format_place_and_name(const frame_line& line);
/// Returns the name and the full location: "forward at /usr/lib/.../linear.py:114". If the name is missing, also
/// returns the reason.
[[nodiscard]] std::string to_text(const frame_line& line);

/// Returns the index of the line that represents `stack`, whose lines are innermost first. The kinds of lines, in order
/// of preference, are: Python code of the program, named code of the program, other code of the program, Python code,
/// named code. The function returns the first line of the most preferred kind that occurs, or 0 if no kind occurs.
[[nodiscard]] std::size_t line_to_name(std::span<const frame_line* const> stack);

using line_id = std::uint32_t;

/// The text that is shown instead of the rest of a stack that was cut.
inline constexpr std::string_view cut_remark = "(cut: the stack is deeper than any recorder records, or it is a ring)";

struct frame_cache_options {
  resolver_options symbols;  ///< Also determines which local files may be read for sources.
  /// CLOCK_REALTIME at the start of the recording, in ns. Sources that were modified later are not shown. 0 (unknown):
  /// all sources are shown.
  std::int64_t recorded_at = 0;
};

/// Returns the options for the frames of `trace`: sources and symbols are read only where `snapshot::local` allows
/// this.
[[nodiscard]] frame_cache_options options_for(const trace::snapshot& trace);

/// Returns a note for the user if sources or symbols are not looked up because `trace` is not trusted.
[[nodiscard]] std::optional<std::string> untrusted_note(const trace::snapshot& trace);

/// Caches the readable lines of a recording's frames, so that each frame is looked up only once. Thread-safe.
class frame_cache {
 public:
  explicit frame_cache(frame_cache_options options = {});

  /// `at_once`: the call looks up native symbols itself and may read large files; meant for background tasks and the
  /// command line. `later`: if a symbol is not known yet, the call returns the module and the address, and queues the
  /// lookup for `work`.
  enum class lookup : std::uint8_t { at_once, later };

  struct frame_lines {
    std::vector<line_id> ids;  ///< Innermost first. Empty for a frame in the recorder itself.
    bool provisional = false;  ///< True if some symbols have not been looked up yet.
  };
  /// Returns the lines of a frame: one, or more if functions are inlined.
  [[nodiscard]] frame_lines get_lines(trace::frame_id frame, const trace::tables& tables, lookup options);

  /// Returns the id of a line that is not a frame but a text such as "no stack recorded".
  [[nodiscard]] line_id remark(std::string_view words);

  /// Returns the id of a line. Equal lines have the same id.
  [[nodiscard]] line_id add(frame_line line);
  /// Returns the line with this id, without its source text; an empty line if the id is unknown.
  [[nodiscard]] frame_line line(line_id id);

  /// True if the line is code of the recorded program itself, or a remark.
  [[nodiscard]] bool is_own(line_id id);

  /// Returns the lines with these ids, in the same order, with their source text.
  [[nodiscard]] std::vector<frame_line> describe(std::span<const line_id> ids, const trace::tables& tables);
  /// Returns all lines of a stack, innermost first, with their source text: at most `deepest` frames, and then a remark
  /// if the stack was cut.
  [[nodiscard]] std::vector<frame_line> stack(trace::stack_id id, const trace::tables& tables, lookup options,
                                              bool* provisional = nullptr);
  /// Returns the line that represents a stack (see `line_to_name`). Looks up native symbols only if the stack has no
  /// Python line of the program itself.
  [[nodiscard]] line_id get_line(trace::stack_id id, const trace::tables& tables, lookup options,
                                 bool* provisional = nullptr);
  /// Returns the ids of the lines that `stack` returns for the same stack.
  [[nodiscard]] std::vector<line_id> lines_of_stack(trace::stack_id id, const trace::tables& tables, lookup options,
                                                    bool* provisional);
  /// The depth limit of all recorders. In a damaged file, stacks may form a cycle, so the limit also bounds the cost of
  /// following a stack.
  static constexpr std::size_t deepest = 2048;

  /// Looks up queued symbols until `deadline`, but at least one symbol. Returns true if more symbols are still queued.
  bool work(std::chrono::steady_clock::time_point deadline);
  /// True if symbols are queued and no thread is looking them up. The caller must then have `work` called.
  [[nodiscard]] bool wants_work();
  /// Increases each time symbols have been found.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct wish {
    std::uint64_t frame = 0;
    std::string module;
    std::string build_id;
    std::uint64_t address = 0;
    std::string name;  ///< The function as recorded; empty if unknown.
  };

  // The caller of `put`, `learn_modules` or `put_native` must hold `mutex_`, and the caller of `local_file`
  // `source_mutex_`.
  line_id put(frame_line&& line);
  void learn_modules(const trace::tables& tables);
  const frame_lines& put_native(const wish& about, const resolution* found);
  const std::string& local_file(const std::string& path);
  void put_sources(std::vector<frame_line>& into, const trace::tables& tables);

  const frame_cache_options options_;
  resolver resolver_;
  std::atomic<std::uint64_t> generation_{0};
  std::mutex mutex_;  ///< Protects all members below, down to `source_mutex_`. Never held while symbols are looked up
                      ///< or files are read.
  std::deque<frame_line> lines_;
  std::unordered_map<std::string, line_id> by_text_;
  std::unordered_map<std::uint64_t, frame_lines> by_frame_;
  std::deque<wish> wishes_;
  bool working_ = false;
  std::unordered_map<std::uint64_t, std::string> build_ids_;  ///< Build ids, keyed by the string id of the module's
                                                              ///< path.
  std::size_t modules_seen_ = 0;
  std::mutex source_mutex_;
  std::unordered_map<std::string, std::string> local_;  ///< The contents of local source files, keyed by path.
};

}  // namespace sluice::symbols
