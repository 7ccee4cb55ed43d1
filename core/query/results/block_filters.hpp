#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/format.hpp"
#include "core/base/lower_case.hpp"
#include "core/query/results/result_functions.hpp"

/// Select blocks by their group in a `memory_groups` result, or by a text that the user entered. Private to core/query.
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

/// Checks whether a text is contained in a block's name, in its address, or in a line or the module of its call stack.
/// Checks each name and each stack only once.
class text_filter {
 public:
  /// Objects that `source` refers to, except its index, must outlive this object.
  text_filter(const std::string& wanted, const sources& source)
      : wanted_(lower_case(wanted)),
        may_be_address_(wanted_.find_first_not_of("0123456789abcdefx") == std::string::npos),
        tables_(source.trace.tables()),
        frames_(source.frames),
        lookup_(source.lookup),
        provisional_(&source.provisional),
        who_(source.frames, tables_, source.lookup, &source.provisional) {}

  bool takes(const index::block_record& block) {
    if (wanted_.empty()) return true;
    const auto [name, new_name] = names_.try_emplace(raw(block.name), false);
    if (new_name) name->second = is_in(tables_.text(block.name));
    if (name->second) return true;
    if (may_be_address_ && format_address(block.address).find(wanted_) != std::string::npos) return true;
    if (block.stack == trace::stack_id::none) return false;
    const auto [stack, new_stack] = stacks_.try_emplace(raw(block.stack), false);
    if (new_stack) stack->second = is_in_stack(block.stack);
    return stack->second;
  }

  [[nodiscard]] bool takes_all() const { return wanted_.empty(); }

 private:
  [[nodiscard]] bool is_in(std::string_view text) const { return lower_case(text).find(wanted_) != std::string::npos; }

  bool is_in_stack(trace::stack_id stack) {
    for (const symbols::line_id line : frames_.lines_of_stack(stack, tables_, lookup_, provisional_))
      if (is_in_line(line)) return true;
    return is_in_line(who_.of(stack, symbols::attribution::module));
  }

  bool is_in_line(symbols::line_id line) {
    const auto [place, fresh] = lines_.try_emplace(line, false);
    if (fresh) place->second = is_in(symbols::format_place_and_name(frames_.line(line)));
    return place->second;
  }

  std::string wanted_;
  bool may_be_address_;  ///< True if the text consists only of characters that occur in addresses.
  const trace::tables& tables_;
  symbols::frame_cache& frames_;
  const symbols::frame_cache::lookup lookup_;
  bool* const provisional_;
  symbols::attributor who_;
  std::unordered_map<std::uint64_t, bool> names_;
  std::unordered_map<std::uint64_t, bool> stacks_;
  std::unordered_map<symbols::line_id, bool> lines_;
};

}  // namespace sluice::query
