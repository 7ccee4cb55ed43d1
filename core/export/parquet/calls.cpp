#include "core/export/parquet/calls.hpp"

#include <algorithm>

namespace sluice::exports {
namespace {

constexpr std::size_t max_chunks = 32;
constexpr auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };

}  // namespace

result<const calls::chunk*> calls::read(std::size_t number) {
  const auto known = std::find_if(read_.begin(), read_.end(), [&](const chunk& each) { return each.number == number; });
  if (known != read_.end()) {
    read_.splice(read_.begin(), read_, known);
    return &read_.front();
  }
  using row = trace::api_call_event;
  const auto columns = trace::column_set<row>::of(&row::id, &row::name, &row::stack);
  if (auto got = from_.read_into<row>(number, rows_, columns); !got) return tl::unexpected(got.error());
  if (read_.size() < max_chunks)
    read_.emplace_front();
  else
    read_.splice(read_.begin(), read_, std::prev(read_.end()));
  chunk& output = read_.front();
  output.number = number;
  output.calls.clear();
  output.calls.reserve(rows_.size());
  for (const row& each : rows_) output.calls.push_back({raw(each.id), each.name, each.stack});
  if (!std::is_sorted(output.calls.begin(), output.calls.end(), by_id))
    std::sort(output.calls.begin(), output.calls.end(), by_id);
  return &output;
}

result<void> calls::find(std::vector<wanted_call> wanted) {
  found_.clear();
  std::erase_if(wanted, [](const wanted_call& each) { return each.id == 0; });
  if (wanted.empty()) return {};
  std::sort(wanted.begin(), wanted.end(), by_id);
  trace::time_ns first = INT64_MAX, last = INT64_MIN;
  for (const wanted_call& each : wanted) {
    const bool known = each.entered != trace::unknown_time;
    first = std::min(first, known ? each.entered : INT64_MIN);
    last = std::max(last, known ? each.entered : INT64_MAX);
  }
  const auto chunks = chunks_.find([&](const index::chunk_reach& reach) {
    if (reach.time > last || reach.end < first) return false;
    const auto next = std::lower_bound(wanted.begin(), wanted.end(), reach.lowest_event,
                                       [](const wanted_call& each, std::uint64_t id) { return each.id < id; });
    return next != wanted.end() && next->id <= reach.highest_event;
  });
  if (!chunks) return tl::unexpected(chunks.error());
  for (const std::size_t number : *chunks) {
    if (from_.chunks()[number].type != trace::row_type::api_call) continue;
    const auto read = this->read(number);
    if (!read) return tl::unexpected(read.error());
    std::set_intersection((*read)->calls.begin(), (*read)->calls.end(), wanted.begin(), wanted.end(),
                          std::back_inserter(found_), by_id);
  }
  std::sort(found_.begin(), found_.end(), by_id);
  return {};
}

const calls::found_call* calls::operator[](std::uint64_t id) const {
  const auto found = std::lower_bound(found_.begin(), found_.end(), id,
                                      [](const found_call& each, std::uint64_t wanted) { return each.id < wanted; });
  return found == found_.end() || found->id != id ? nullptr : &*found;
}

}  // namespace sluice::exports
