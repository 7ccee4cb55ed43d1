#include "core/query/results/block_filters.hpp"

#include <xxhash.h>

namespace sluice::query {

std::uint64_t key_of_group(std::string_view label) {
  return label.empty() ? 0 : XXH3_64bits(label.data(), label.size());
}

group_filter::group_filter(const block_groups& wanted, const sources& source)
    : by_(wanted.by),
      keys_(wanted.keys.begin(), wanted.keys.end()),
      except_(wanted.except),
      frames_(source.frames),
      who_(source.frames, source.trace.tables(), source.lookup, &source.provisional) {}

bool group_filter::takes(const index::block_record& block) { return keys_.contains(get_key(block)) != except_; }

std::uint64_t group_filter::get_key(const index::block_record& block) {
  const auto by = to_attribution(by_);
  if (by_ == memory_grouping::stream) return raw(block.stream);
  if (!by) return raw(block.process);
  // A framework owns the memory that it hands out, and its blocks have its name.
  if (by_ == memory_grouping::owner && block.layer > trace::layer::pool) return raw(block.name);
  const auto [at, fresh] = stacks_.try_emplace(raw(block.stack), 0);
  if (!fresh || block.stack == trace::stack_id::none) return at->second;
  const symbols::line_id line = who_.of(block.stack, *by);
  if (line != who_.unknown(*by)) at->second = key_of_group(symbols::format_place_and_name(frames_.line(line)));
  return at->second;
}

}  // namespace sluice::query
