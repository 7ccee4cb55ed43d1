#include "core/metrics/findings/finding_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/metrics/findings/descriptors.hpp"

namespace sluice::metrics {

std::span<const finding_rule> finding_rules() { return finding_rules_in_order; }

std::string_view get_word(finding_kind kind) { return finding_rules_in_order[static_cast<std::size_t>(kind)].word; }

const finding_rule* rule_named(std::string_view word) {
  const auto found = std::find_if(finding_rules_in_order.begin(), finding_rules_in_order.end(),
                                  [&](const finding_rule& each) { return each.word == word; });
  return found == finding_rules_in_order.end() ? nullptr : &*found;
}

std::string to_text(const finding_rule& rule) {
  std::string text = fmt::format("{}\n\n  Meaning: {}\n  How it is detected: {}\n  Limitations: {}", rule.word,
                                 rule.means, rule.found_by, rule.cannot_see);
  for (const code_fix& each : rule.fixes) {
    text += fmt::format("\n  Fix, {}{}{}:", each.framework, each.when.empty() ? "" : ", ", each.when);
    for (std::size_t begin = 0; begin <= each.code.size();) {
      const std::size_t end = std::min(each.code.find('\n', begin), each.code.size());
      text += fmt::format("\n      {}", each.code.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return text;
}

}  // namespace sluice::metrics
