#include "core/query/sources/block_columns.hpp"

#include <tuple>
#include <utility>

namespace sluice::query {
namespace {

using row_type = metrics::listed_block;

/// The member of each column before `traits`.
constexpr std::tuple members{&row_type::block,     &row_type::alloc,    &row_type::process, &row_type::device,
                             &row_type::stream,    &row_type::pool,     &row_type::name,    &row_type::stack,
                             &row_type::born,      &row_type::died,     &row_type::address, &row_type::bytes,
                             &row_type::first_use, &row_type::last_use, &row_type::uses};
static_assert(std::tuple_size_v<decltype(members)> == get_place(list_column::traits));

std::uint64_t pack_traits(const row_type& block, bool unfreed) {
  return static_cast<std::uint64_t>(block.layer) | static_cast<std::uint64_t>(block.kind) << block_traits::kind_at |
         static_cast<std::uint64_t>(block.category.kind) << block_traits::category_at |
         static_cast<std::uint64_t>(block.category.why) << block_traits::reason_at |
         static_cast<std::uint64_t>(unfreed) << block_traits::unfreed_at;
}

}  // namespace

void read_column(const summary::store_blocks& blocks, std::span<const std::uint32_t> places, list_column column,
                 block_values& columns) {
  std::vector<std::uint64_t>& values = columns[get_place(column)];
  if (!values.empty()) return;
  values.reserve(places.size());
  if (column == list_column::traits) {
    for (const std::uint32_t i : places) values.push_back(pack_traits(blocks.listed(i, false), blocks.unfreed(i)));
    return;
  }
  if (column >= list_column::first_use) {  // The uses of a block are looked up once for its three columns.
    for (const std::uint32_t i : places) {
      const row_type row = blocks.listed(i, blocks.uses_known());
      columns[get_place(list_column::first_use)].push_back(static_cast<std::uint64_t>(row.first_use));
      columns[get_place(list_column::last_use)].push_back(static_cast<std::uint64_t>(row.last_use));
      columns[get_place(list_column::uses)].push_back(row.uses);
    }
    return;
  }
  const auto put = [&](auto member) {
    for (const std::uint32_t i : places) values.push_back(static_cast<std::uint64_t>(blocks.listed(i, false).*member));
  };
  std::size_t at = 0;
  std::apply([&](auto... member) { ((at++ == get_place(column) ? put(member) : void()), ...); }, members);
}

metrics::listed_block select_block(const block_values& columns, std::size_t row) {
  row_type block;
  const auto put = [&]<class Value>(std::size_t at, Value row_type::*member) {
    block.*member = static_cast<Value>(columns[at][row]);
  };
  [&]<std::size_t... at>(std::index_sequence<at...>) { (put(at, std::get<at>(members)), ...); }
  (std::make_index_sequence<get_place(list_column::traits)>());
  const std::uint64_t traits = columns[get_place(list_column::traits)][row];
  const auto trait = [&](unsigned from) { return static_cast<std::uint8_t>(traits >> from & block_traits::mask); };
  block.layer = static_cast<trace::layer>(trait(0));
  block.kind = static_cast<trace::memory_kind>(trait(block_traits::kind_at));
  block.category = {static_cast<index::category>(trait(block_traits::category_at)),
                    static_cast<index::category_reason>(trait(block_traits::reason_at))};
  return block;
}

}  // namespace sluice::query
