#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/query/results/result_functions.hpp"

/// Determines the group of a `memory_groups` result to which a block belongs. Private to core/query.
namespace sluice::query {

/// Returns the key of the group with this label, or 0 for an empty label. Keys are the same in every run of Sluice.
[[nodiscard]] std::uint64_t key_of_group(std::string_view label);

/// Checks whether blocks belong to the selected groups. Looks up each stack only once.
class group_filter {
 public:
  /// Objects that `source` refers to, except its index, must outlive this object.
  group_filter(const block_groups& wanted, const sources& source);
  [[nodiscard]] bool takes(const index::block_record& block);

 private:
  [[nodiscard]] std::uint64_t get_key(const index::block_record& block);

  const memory_grouping by_;
  const std::unordered_set<std::uint64_t> keys_;
  const bool except_;
  symbols::frame_cache& frames_;
  symbols::attributor who_;
  std::unordered_map<std::uint64_t, std::uint64_t> stacks_;  ///< For each stack id, the key of its group.
};

}  // namespace sluice::query
