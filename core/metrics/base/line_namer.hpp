#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/metrics/base/naming.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/tables.hpp"

/// Names the lines to which call stacks are attributed.
namespace sluice::metrics {

/// Finds the line to which each stack is attributed (`symbols::line_to_name`). Looks up each stack once.
class line_namer {
 public:
  line_namer(const trace::tables& tables, const naming& names) : tables_(tables), names_(names) {}

  /// True if a stack was recorded and the file contains the stack.
  [[nodiscard]] bool knows(trace::stack_id stack) const {
    return stack != trace::stack_id::none && tables_.stacks.find(stack) != nullptr;
  }
  /// Returns the line to which a stack is attributed. Looks up native functions only if the stack has no Python line of
  /// the program itself.
  [[nodiscard]] symbols::line_id get_line(trace::stack_id stack) {
    const auto [place, fresh] = named_.try_emplace(raw(stack));
    if (fresh) place->second = names_.book.get_line(stack, tables_, names_.lookup, names_.provisional);
    return place->second;
  }
  [[nodiscard]] symbols::frame_line describe(symbols::line_id line) const {
    return names_.book.describe(std::span(&line, 1), tables_).front();
  }
  [[nodiscard]] std::vector<symbols::frame_line> stack(trace::stack_id id) const {
    return names_.book.stack(id, tables_, names_.lookup, names_.provisional);
  }

 private:
  const trace::tables& tables_;
  const naming& names_;
  std::map<std::uint64_t, symbols::line_id> named_;
};

}  // namespace sluice::metrics
