#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/format.hpp"
#include "core/query/results/event_text.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/query/results/rows_about.hpp"
#include "core/query/results/same_name.hpp"
#include "core/query/results/tensor_details.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using trace::event_id;

template <class Row>
std::optional<event_details> try_kind(event_id id, const sources& source) {
  std::optional<event_details> found;
  rows_about<Row>(id, source, [&](const Row& row) {
    if (row.id == id && !found) found = describe(row, source);
  });
  return found;
}

std::optional<event_details> find_event(event_id id, const sources& source) {
  using namespace trace;
  std::optional<event_details> found;
  const auto try_each = [&]<class... Rows>() {
    static_cast<void>(((found = try_kind<Rows>(id, source)).has_value() || ...));
  };
  try_each.operator()<kernel_event, transfer_event, api_call_event, alloc_event, free_event, memset_event,
                      migration_event, host_range_event, file_io_event, sync_event, marker_event, pool_event,
                      device_memory_event, alloc_failed_event, graph_launch_event, graph_definition_event,
                      event_record_event, event_wait_event, counter_event, touch_event, transfer_part_event,
                      host_sample_event, loss_event, checkpoint_event, live_block_event, message_event>();
  return found;
}

void put_attributes(event_id id, const sources& source, event_details& into) {
  const trace::tables& tables = source.trace.tables();
  rows_about<trace::attribute_event>(id, source, [&](const trace::attribute_event& row) {
    if (row.target != id) return;
    std::string value = row.text != trace::string_id::none ? std::string(tables.text(row.text))
                        : row.real != 0                    ? fmt::format("{}", row.real)
                                                           : fmt::format("{}", row.integer);
    into.details.push_back({std::string(tables.text(row.key)), std::move(value), {}, {}});
  });
  rows_about<trace::link_event>(id, source, [&](const trace::link_event& row) {
    if (row.from != id) return;
    static constexpr const char* names[] = {"Caused", "Waited for by", "Touch", "Defined", "Owner's block"};
    into.details.push_back({names[static_cast<std::size_t>(row.kind) % std::size(names)],
                            fmt::format("event {}", raw(row.to)),
                            row.to,
                            {}});
  });
}

/// Adds a line for each of the first copies of a batch.
void put_parts(const trace::transfer_event& whole, const sources& source, event_details& into) {
  constexpr std::size_t most = 16;
  std::vector<trace::transfer_part_event> parts;
  static_cast<void>(source.trace.for_each<trace::transfer_part_event>(
      [&](const trace::transfer_part_event& row) {
        if (row.transfer == whole.id) parts.push_back(row);
      },
      whole.enqueued, whole.enqueued + 1));
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (std::size_t i = 0; i < parts.size() && i < most; ++i) {
    const trace::transfer_part_event& part = parts[i];
    const bool to_device = part.direction != trace::direction::d2h;
    const trace::block_id block = to_device ? part.destination_block : part.source_block;
    into.details.push_back(
        {fmt::format("Part {} of {}", part.index + 1, part.count),
         fmt::format("{}{}, {} to {}", part.bytes > 0 ? format_bytes(part.bytes) + " " : std::string(),
                     get_name(part.direction), format_address(part.source_address),
                     format_address(part.destination_address)),
         part.id, block});
  }
  if (whole.copies > std::min(parts.size(), most))
    into.details.push_back({"More parts", format_count(whole.copies - std::min(parts.size(), most)), {}, {}});
}

}  // namespace

result<event_details> result_to(const details_query& query, const sources& source) {
  if (query.block != trace::block_id::none) {
    const index::block_record* block = source.index.memory().find(query.block);
    if (block == nullptr)
      return fail(error_code::not_found, "the recording has no block with this id", source.trace.path());
    event_details found = describe(*block, source);
    put_tensor_details(*block, source, found);
    return found;
  }
  if (query.which != same_name::itself) return find_same_name(query.event, query.which, source);
  auto found = find_event(query.event, source);
  if (!found) return fail(error_code::not_found, "the recording has no event with this id", source.trace.path());
  put_attributes(query.event, source, *found);
  if (const auto copy = find_row<trace::transfer_event>(query.event, source); copy && copy->copies > 1)
    put_parts(*copy, source, *found);
  if (const auto kernel = find_row<trace::kernel_event>(query.event, source))
    put_touched_blocks(*kernel, source, *found);
  return std::move(*found);
}

}  // namespace sluice::query
