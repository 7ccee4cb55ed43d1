#pragma once

#include <map>

#include "core/figures/report.hpp"

/// Finds program lines that hold memory at its peaks, and lines whose copies the device waited for. Private to core.
namespace sluice::analysis {

/// Finds the line that stands for each stack (symbols::line_to_name). Each stack is looked up once.
class line_namer {
 public:
  line_namer(const trace::tables& tables, const naming& names) : tables_(tables), names_(names) {}

  /// True if a stack was recorded and the file defines it.
  [[nodiscard]] bool knows(trace::stack_id stack) const {
    return stack != trace::stack_id::none && tables_.stacks.find(stack) != nullptr;
  }
  /// Returns the line for a stack. Looks up native functions only if the stack has no Python line of the program's own.
  [[nodiscard]] symbols::line_id line_of(trace::stack_id stack) {
    const auto [place, fresh] = named_.try_emplace(raw(stack));
    if (fresh) place->second = names_.book.line_of(stack, tables_, names_.lookup, names_.provisional);
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

/// Fills in `memory_peak::lines`, `memory_peak::asked_by`, `report::grouping` and `report::copying`. O(stacks + lines of their stacks).
void put_lines(const report_figures& figures, const trace::tables& tables, const naming& names, report& into);

}  // namespace sluice::analysis
