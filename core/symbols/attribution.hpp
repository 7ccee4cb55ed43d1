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

/// Attributes memory: assigns the call stack that allocated it to a line of code, a module, a package or an owner. The
/// report, the window and SQL use the same rules.
namespace sluice::symbols {

/// What a call stack is attributed to.
enum class attribution : std::uint8_t {
  /// The innermost line of code that belongs to the program itself (`frame_cache::get_line`).
  line,
  /// The line of the program's own code that called the function that contains `line`. This is useful if `line` is in a
  /// helper that allocates for the whole program. It is the same as `line` if no code of the program called that
  /// function.
  caller,
  /// The innermost `forward` of a class (`GPT2MLP.forward`). If there is none, the innermost `__call__` (Flax), except
  /// the wrappers of PyTorch, Flax and JAX that only pass the call on. For native code, the class or namespace of
  /// `line`.
  module,
  /// The Python package of the innermost frame that is not in Python's standard library and not in an array library,
  /// which allocates for others (`torch`, `jax`, `cupy`, ...). The program's own code counts as one package. If there
  /// are no Python frames, the shared library or program of the innermost native frame outside CUDA and the system.
  package,
  /// The library that called the CUDA driver: PyTorch, NCCL, cuBLAS, the program, ... A call through Python's ctypes is
  /// attributed to the package of the innermost Python frame. Unknown for stacks without native frames.
  owner
};
inline constexpr std::size_t attribution_count = 5;

/// Returns "line", "caller", "module", "package" or "owner": the values of `sluice report --by`.
[[nodiscard]] std::string_view get_name(attribution by);
[[nodiscard]] std::optional<attribution> attribution_named(std::string_view name);

/// Returns the last part of a qualified name: "forward" of "GPT2MLP.forward" and of "build.<locals>.forward".
[[nodiscard]] std::string_view simple_name(std::string_view qualified);
/// Returns the class or namespace of a C++ function, for example "solver::grid" of "solver::grid::allocate(unsigned
/// long)"; empty if it has none.
[[nodiscard]] std::string_view get_scope(std::string_view function);
/// Returns a short name for the owner of a native code file: "NCCL", "PyTorch", "the program", or the name of the file.
/// The name is empty for CUDA's driver and runtime and for the recorder, because these only pass calls on.
[[nodiscard]] std::string owner_of_module(std::string_view path);

/// True if the owner is a library that allocates for its own work: cuBLAS, cuDNN, NCCL, ... False for frameworks and
/// allocators, which allocate on behalf of the program.
[[nodiscard]] bool allocates_for_itself(std::string_view owner);

/// Attributes the stacks of a recording. Looks up each stack only once. `book` and `tables` must outlive this object.
/// Not thread-safe.
class attributor {
 public:
  attributor(frame_cache& book, const trace::tables& tables, frame_cache::lookup lookup, bool* provisional = nullptr)
      : book_(book), tables_(tables), lookup_(lookup), provisional_(provisional) {}

  /// Returns the line to which a stack is attributed; stacks with equal lines form a group. For `line` and `caller`,
  /// this is a line of code; for `module`, a function or class without a line number; for `package` and `owner`, a
  /// remark. Native symbols are looked up only if no Python frame of the stack decides. The first call for a stack
  /// takes O(frames).
  [[nodiscard]] line_id of(trace::stack_id stack, attribution by);
  /// Returns the line that `of` returns for a stack that cannot be attributed.
  [[nodiscard]] line_id unknown(attribution by);

 private:
  [[nodiscard]] std::vector<const trace::frame_row*> find_frames(trace::stack_id stack) const;
  [[nodiscard]] line_id find(trace::stack_id stack, attribution by);
  [[nodiscard]] line_id get_caller(trace::stack_id stack);
  [[nodiscard]] line_id get_module(trace::stack_id stack);
  [[nodiscard]] line_id package_of_stack(trace::stack_id stack);
  [[nodiscard]] line_id find_owner(trace::stack_id stack);
  [[nodiscard]] std::string python_package(const trace::frame_row& frame) const;
  [[nodiscard]] line_id named(std::string_view name) { return book_.remark(name); }

  frame_cache& book_;
  const trace::tables& tables_;
  const frame_cache::lookup lookup_;
  bool* const provisional_;
  std::array<std::unordered_map<std::uint64_t, line_id>, attribution_count> known_;
};

}  // namespace sluice::symbols
