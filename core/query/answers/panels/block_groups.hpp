#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/query/answers/answer_functions.hpp"

/// Which group of a `memory_groups` a block belongs to. Private to core/query.
namespace sluice::query {

/// The key of the group with this label; 0 for an empty label. The same in every run of the program.
[[nodiscard]] std::uint64_t key_of_group(std::string_view label);

/// Tells whether blocks belong to some groups. Looks at each stack once.
class group_filter {
 public:
  /// What `from` refers to must outlive this, except its index.
  group_filter(const block_groups& wanted, const sources& from);
  [[nodiscard]] bool takes(const analysis::block_record& block);

 private:
  [[nodiscard]] std::uint64_t key_of(const analysis::block_record& block);

  const memory_grouping by_;
  const std::unordered_set<std::uint64_t> keys_;
  const bool except_;
  symbols::frame_book& frames_;
  symbols::attributor who_;
  std::unordered_map<std::uint64_t, std::uint64_t> stacks_;  ///< The key of each stack's group.
};

}  // namespace sluice::query
