#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/metrics/base/naming.hpp"
#include "core/symbols/attribution.hpp"

/// The places in the program that requested something, as findings name them.
namespace sluice::metrics {

/// The place in the program that requested something.
struct code_place {
  bool known = false;          ///< False if no stack was recorded.
  symbols::frame_line line;    ///< The line in the program's own code (`symbols::attribution::line`).
  symbols::frame_line caller;  ///< The caller of that line; equal to `line` if it has no caller in the program.
  std::string module;          ///< The module, such as "GPT2MLP.forward"; empty if unknown.
  bool owned = true;           ///< False if a library such as cuBLAS or NCCL allocated the memory for itself.
  /// "PyTorch", "CuPy", "JAX" or "Numba" if the stack has a frame of that framework; otherwise empty.
  std::string maker;
};

/// Finds the places of call stacks. Looks up each stack once. Not thread-safe. The constructor's arguments must outlive
/// this object.
class code_places {
 public:
  /// Creates an object that knows no places, for metrics without stacks.
  explicit code_places(const trace::tables& tables) : tables_(tables) {}
  code_places(const trace::tables& tables, const naming& names)
      : tables_(tables), names_(&names), who_(std::in_place, names.book, tables, names.lookup, names.provisional) {}

  /// Returns the place of a stack. `code_place::known` is false if no stack was recorded. The first call for a stack
  /// takes O(frames of the stack).
  const code_place& of(trace::stack_id stack);

 private:
  [[nodiscard]] std::string find_maker(trace::stack_id stack) const;

  const trace::tables& tables_;
  const naming* names_ = nullptr;
  std::optional<symbols::attributor> who_;
  std::unordered_map<std::uint64_t, code_place> known_;
};

/// Returns the framework that the code of a frame belongs to: "PyTorch", "CuPy", "JAX" or "Numba"; else empty. The text
/// is static.
[[nodiscard]] std::string_view framework_of(const trace::frame_row& frame, const trace::tables& tables);

/// Returns the framework that allocated memory of this layer, as advice names it. This is the place's `maker`, or
/// PyTorch for the framework layer; empty if unknown.
[[nodiscard]] std::string find_maker(const code_place& place, trace::layer layer);

/// Returns text such as "train.py:12 (make_batch)". If file and line are unknown, returns only the function. Empty if
/// all are unknown.
[[nodiscard]] std::string to_text(const code_place& place);

}  // namespace sluice::metrics
