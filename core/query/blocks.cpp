#include <algorithm>
#include <unordered_map>

#include "core/analysis/tensors.hpp"
#include "core/format.hpp"
#include "core/query/answering.hpp"

namespace sluice::query {
namespace {

using analysis::block_record;

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

/// Whether a block's name or address contains the wanted text. Remembers what it found for each name.
class text_filter {
 public:
  text_filter(const std::string& wanted, const trace::tables& tables) : wanted_(lower(wanted)), tables_(tables) {}

  bool takes(const block_record& block) {
    if (wanted_.empty()) return true;
    const auto [place, fresh] = names_.try_emplace(raw(block.name), false);
    if (fresh) place->second = lower(tables_.text(block.name)).find(wanted_) != std::string::npos;
    return place->second || format_address(block.address).find(wanted_) != std::string::npos;
  }

 private:
  std::string wanted_;
  const trace::tables& tables_;
  std::unordered_map<std::uint64_t, bool> names_;
};

block_row row_of(const block_record& block, const analysis::block_category& category) {
  return {block.id,   block.address, block.bytes, block.level, block.kind, block.device, block.stream,
          block.pool, block.name,    block.alloc, block.born,  block.died, category};
}

/// Blocks that were never freed outlive all others.
time_ns death(const block_row& row) { return row.died == trace::unknown_time ? INT64_MAX : row.died; }
time_ns lifetime(const block_row& row) { return row.died == trace::unknown_time ? INT64_MAX : row.died - row.born; }

int three_way(auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; }

int compare(const block_row& a, const block_row& b, block_column by, const trace::tables& tables) {
  switch (by) {
    case block_column::address:
      return three_way(a.address, b.address);
    case block_column::bytes:
      return three_way(a.bytes, b.bytes);
    case block_column::layer:
      return three_way(a.level, b.level);
    case block_column::kind:
      return three_way(a.kind, b.kind);
    case block_column::born:
      return three_way(a.born, b.born);
    case block_column::died:
      return three_way(death(a), death(b));
    case block_column::lifetime:
      return three_way(lifetime(a), lifetime(b));
    case block_column::name:
      return a.name == b.name ? 0 : three_way(tables.text(a.name), tables.text(b.name));
    case block_column::category:
      return three_way(a.category.what, b.category.what);
  }
  return 0;
}

}  // namespace

result<block_table> answer_to(const blocks_question& question, const sources& from) {
  const time_range range = analysis::bounded(question.range);
  text_filter filter(question.filter, from.trace.tables());
  block_table table;
  const auto facts = from.index.tensors(from.trace);
  std::size_t seen = 0;
  for (const block_record& block : from.index.memory().blocks()) {
    if ((++seen & 0xfffU) == 0 && from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
    if (!block.allocated || !block.live_in(range)) continue;
    if (question.level && block.level != *question.level) continue;
    if (question.only_unfreed && (block.freed() || block.born_before())) continue;
    if (!filter.takes(block)) continue;
    ++table.count;
    table.total_bytes += block.bytes;
    table.rows.push_back(
        row_of(block, seen <= facts->categories.size() ? facts->categories[seen - 1] : analysis::block_category{}));
  }
  const auto before = [&](const block_row& a, const block_row& b) {
    const int order = compare(a, b, question.sort, from.trace.tables());
    if (order != 0) return question.descending ? order > 0 : order < 0;
    return a.block < b.block;
  };
  const std::size_t most = std::min(question.rows, block_table::row_limit);
  if (table.rows.size() > most) {
    const auto cut = table.rows.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(table.rows.begin(), cut, table.rows.end(), before);
    table.rows.erase(cut, table.rows.end());
  }
  std::sort(table.rows.begin(), table.rows.end(), before);
  return table;
}

}  // namespace sluice::query
