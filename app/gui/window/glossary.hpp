#pragma once

#include <span>
#include <string_view>

#include "core/index/memory/categories.hpp"
#include "core/trace/model/model.hpp"

/// The words of the window, each explained in two sentences. Tooltips show one; the help shows all.
namespace sluice::gui {

struct term {
  std::string_view name;         ///< As the window writes it, in lower case; proper names excepted.
  std::string_view explanation;  ///< Two sentences.
};

/// All terms in the order of their names.
[[nodiscard]] std::span<const term> all_terms();
/// The term of that name, whatever its case; null if there is none. O(log terms).
[[nodiscard]] const term* find_term(std::string_view name);

/// Names of the terms that explain a layer, a category, a kind of memory. Empty for "unknown".
[[nodiscard]] std::string_view term_of(trace::layer layer);
[[nodiscard]] std::string_view term_of(analysis::category what);
[[nodiscard]] std::string_view term_of(trace::memory_kind kind);

}  // namespace sluice::gui
