#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/symbols/code_files.hpp"
#include "core/symbols/frames.hpp"

/// Who asked for memory: what a call stack is attributed to. The report, the window and SQL use these rules.
namespace sluice::symbols {

/// What to name a stack by.
enum class attribution : std::uint8_t {
  /// The innermost line of the program's own code (`frame_book::line_of`).
  line,
  /// The line of the program's own code that called the function of `line`: a helper that allocates for all of a
  /// program is nobody's culprit. The same as `line` if nothing of the program called it.
  caller,
  /// The innermost `forward` of a class (`GPT2MLP.forward`); else its innermost `__call__` (Flax), without those of
  /// PyTorch, Flax and JAX that only call on; else, of native code, the class or namespace of `line`.
  module,
  /// The Python package of the innermost frame outside Python's own library and outside array libraries, which allocate
  /// for others (`torch`, `jax`, `cupy`, ...); the program's own code counts as one package. Without Python frames the
  /// shared library or program of the innermost native frame outside CUDA and the system.
  package,
  /// The library that called the CUDA driver: PyTorch, NCCL, cuBLAS, the program, ... A call through Python's ctypes
  /// counts as the innermost Python frame's package. Unknown for stacks without native frames.
  owner
};
inline constexpr std::size_t attribution_count = 5;

/// "line", "caller", "module", "package", "owner": the words of `sluice report --by`.
[[nodiscard]] std::string_view name_of(attribution by);
[[nodiscard]] std::optional<attribution> attribution_named(std::string_view name);

/// The last part of a qualified name: "forward" of "GPT2MLP.forward" and of "build.<locals>.forward".
[[nodiscard]] std::string_view simple_name(std::string_view qualified);
/// The class or namespace of a C++ function, "solver::grid" of "solver::grid::allocate(unsigned long)"; empty if none.
[[nodiscard]] std::string_view scope_of(std::string_view function);
/// Says in a word or two whose code a file of native code is: "NCCL", "PyTorch", "the program", or the file's name.
/// Empty for CUDA's driver and runtime and for the recorder, which only pass a call on.
[[nodiscard]] std::string owner_of_module(std::string_view path);

/// True if an owner is a library that allocates for its own work: cuBLAS, cuDNN, NCCL, ... False for frameworks and
/// allocators, which allocate for the program.
[[nodiscard]] bool allocates_for_itself(std::string_view owner);

/// Attributes the stacks of a recording. Each stack is looked up once. Not thread-safe; `book` and `tables` must outlive
/// it.
class attributor {
 public:
  attributor(frame_book& book, const trace::tables& tables, frame_book::lookup lookup, bool* provisional = nullptr)
      : book_(book), tables_(tables), lookup_(lookup), provisional_(provisional) {}

  /// The line that stands for a stack: equal lines are one group. For `line` and `caller` a line of code; for `module` a
  /// function or class without a line number; for `package` and `owner` a remark. Native symbols are looked up only if
  /// the stack has no Python frame that decides. O(frames) the first time.
  [[nodiscard]] line_id of(trace::stack_id stack, attribution by);
  /// The line that `of` returns for a stack that says nothing about this.
  [[nodiscard]] line_id unknown(attribution by);

 private:
  [[nodiscard]] std::vector<const trace::frame_row*> frames_of(trace::stack_id stack) const;
  [[nodiscard]] line_id find(trace::stack_id stack, attribution by);
  [[nodiscard]] line_id caller_of(trace::stack_id stack);
  [[nodiscard]] line_id module_of(trace::stack_id stack);
  [[nodiscard]] line_id package_of_stack(trace::stack_id stack);
  [[nodiscard]] line_id owner_of(trace::stack_id stack);
  [[nodiscard]] std::string python_package(const trace::frame_row& frame) const;
  [[nodiscard]] line_id named(std::string_view name) { return book_.remark(name); }

  frame_book& book_;
  const trace::tables& tables_;
  const frame_book::lookup lookup_;
  bool* const provisional_;
  std::array<std::unordered_map<std::uint64_t, line_id>, attribution_count> known_;
};

}  // namespace sluice::symbols
