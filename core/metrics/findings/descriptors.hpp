#pragma once

#include <array>
#include <cstddef>

#include "core/metrics/findings/compositions/descriptor.hpp"
#include "core/metrics/findings/dead_writes/descriptor.hpp"
#include "core/metrics/findings/errors/descriptor.hpp"
#include "core/metrics/findings/faults/descriptor.hpp"
#include "core/metrics/findings/fp32_products/descriptor.hpp"
#include "core/metrics/findings/growth/descriptor.hpp"
#include "core/metrics/findings/held_twice/descriptor.hpp"
#include "core/metrics/findings/idle_memory/descriptor.hpp"
#include "core/metrics/findings/ranks/descriptor.hpp"
#include "core/metrics/findings/repeats/descriptor.hpp"
#include "core/metrics/findings/reserved/descriptor.hpp"
#include "core/metrics/findings/transfers/descriptor.hpp"
#include "core/metrics/findings/waits/descriptor.hpp"

/// The list of all findings. Private to core/metrics.
namespace sluice::metrics {

/// In the order in which the findings are made: a step may look at the findings of earlier steps.
inline constexpr auto finding_descriptors_in_order = std::to_array<finding_descriptor>({
    faults_findings,
    errors_findings,
    idle_memory_findings,
    growth_findings,
    dead_writes_findings,
    reserved_findings,
    compositions_findings,
    held_twice_findings,
    ranks_findings,
    transfers_findings,
    repeats_findings,
    fp32_products_findings,
    waits_findings,
});

/// The rules of all folders, in the order of the enumerators of `finding_kind`.
inline constexpr auto finding_rules_in_order = [] {
  std::array<finding_rule, finding_kind_count> rules{};
  for (const finding_descriptor& folder : finding_descriptors_in_order)
    for (const finding_rule& rule : folder.rules) rules[static_cast<std::size_t>(rule.kind)] = rule;
  return rules;
}();
static_assert(
    [] {
      std::size_t count = 0;
      for (const finding_descriptor& folder : finding_descriptors_in_order) count += folder.rules.size();
      for (const finding_rule& rule : finding_rules_in_order)
        if (rule.word.empty()) return false;
      return count == finding_kind_count;
    }(),
    "each kind of finding is registered once");

}  // namespace sluice::metrics
