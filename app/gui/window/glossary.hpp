#pragma once

#include <span>
#include <string_view>

#include "core/index/tensors/categories.hpp"
#include "core/trace/model/model.hpp"

/// The terms used in the window, with two sentences that explain each. A tooltip shows one term; the glossary in the
/// Help menu shows all of them.
namespace sluice::gui {

struct term {
  std::string_view name;         ///< As the window writes it: in lower case, except for proper names.
  std::string_view explanation;  ///< Two sentences.
};

/// All terms, sorted by name.
[[nodiscard]] std::span<const term> all_terms();
/// The term with that name, ignoring case; null if there is none. O(log terms).
[[nodiscard]] const term* find_term(std::string_view name);

/// The name of the term that explains a layer, a category or a kind of memory. Empty for "unknown".
[[nodiscard]] std::string_view get_term(trace::layer layer);
[[nodiscard]] std::string_view get_term(index::category wanted);
[[nodiscard]] std::string_view get_term(trace::memory_kind kind);

}  // namespace sluice::gui
