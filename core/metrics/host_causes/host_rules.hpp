#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/metrics/host_causes/host_reason.hpp"

/// The table of rules by which frames and system calls are given reasons. Patterns: `patterns.hpp`.
namespace sluice::metrics {

/// Where a rule applies.
enum class rule_reach : std::uint8_t {
  stack,   ///< At any depth: whatever the function calls is done for it.
  shallow  ///< At any depth, unless a function of the program itself was called in between. The body of a module does
           ///< not count as a function: importing it is what runs it.
};

/// A frame matches a rule if all patterns that are not empty match. Rules with a `file` are for Python frames, the
/// others for native frames.
struct frame_rule {
  host_reason reason;
  /// The library that the report names. Empty: none.
  std::string_view library;
  /// The file name of the native module; if the pattern contains '/', its path below site-packages.
  std::string_view module{};
  /// The bare name of the function (`get_bare_name`); of a Python function, its qualified name or the last part of it.
  std::string_view function{};
  /// The path of the Python file below site-packages or below the folder of the standard library: files of the program
  /// itself never match.
  std::string_view file{};
  rule_reach reach = rule_reach::stack;
};

/// Rules that name work. The first rule of this table that matches any frame of a stack decides.
[[nodiscard]] std::span<const frame_rule> get_work_rules();

/// Rules that name code between the program's line and the work. They decide if neither a work rule nor a system call
/// does; the innermost frame that matches any of them wins.
[[nodiscard]] std::span<const frame_rule> get_passing_rules();

/// Native modules that only pass calls on: the C library, the interpreter. They decide nothing.
[[nodiscard]] bool is_plumbing(std::string_view module_file);

/// True for native code of the CUDA driver and runtime, also where the runtime is linked into the program.
[[nodiscard]] bool is_cuda_driver(std::string_view module_file, std::string_view bare_function);

/// A system call of x86-64 Linux that has a meaning, whatever calls it.
struct system_call_rule {
  std::int64_t number;
  host_reason reason;
  std::string_view name;
};

/// Returns the number of the system call that a function of the C library makes, for samples of threads in the system
/// whose call is unknown; -1 for other functions.
[[nodiscard]] std::int64_t find_call_number(std::string_view module_file, std::string_view function);

/// Returns the rule of a system call; null if it decides nothing, such as ioctl. O(log rules).
[[nodiscard]] const system_call_rule* find_system_call(std::int64_t number);

}  // namespace sluice::metrics
