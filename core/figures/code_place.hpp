#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/figures/report.hpp"
#include "core/symbols/attribution.hpp"

/// Where in the program something was asked for, as findings name it.
namespace sluice::analysis {

/// Names call stacks. Each stack is looked up once. Not thread-safe; what it is made of must outlive it.
class code_places {
 public:
  /// Names nothing: for figures without stacks.
  explicit code_places(const trace::tables& tables) : tables_(tables) {}
  code_places(const trace::tables& tables, const naming& names)
      : tables_(tables), names_(&names), who_(std::in_place, names.book, tables, names.lookup, names.provisional) {}

  /// O(frames of the stack) the first time. A place whose `known` is false if no stack was recorded.
  const code_place& of(trace::stack_id stack);

 private:
  [[nodiscard]] std::string maker_of(trace::stack_id stack) const;

  const trace::tables& tables_;
  const naming* names_ = nullptr;
  std::optional<symbols::attributor> who_;
  std::unordered_map<std::uint64_t, code_place> known_;
};

/// What made memory of this layer, as advice names it: the place's maker, or PyTorch for a framework's; empty if unknown.
[[nodiscard]] std::string maker_of(const code_place& place, trace::layer layer);

/// "train.py:12 (make_batch)"; the function alone if no place is known; empty if nothing is.
[[nodiscard]] std::string text_of(const code_place& place);

}  // namespace sluice::analysis
