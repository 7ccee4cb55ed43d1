#include "core/summary/sections/section_list.hpp"

#include <algorithm>

namespace sluice::summary {
namespace {

/// The maximum number of sections, more than any recording has. This limit is needed because a few corrupt bytes could
/// claim very many sections.
constexpr std::size_t max_sections = std::size_t{1} << 18;

}  // namespace

std::shared_ptr<const section_list> section_list::of(std::shared_ptr<const trace::snapshot> recording) {
  std::shared_ptr<section_list> list(new section_list);
  list->from_ = std::move(recording);
  return list->load() ? list : nullptr;
}

section_list::section_list(std::span<const trace::section_row> sections) {
  for (const trace::section_row& each : sections) {
    begins_.push_back(each.time);
    events_.push_back(each.events);
  }
  begins_.push_back(sections.empty() ? 0 : sections.back().end);
}

bool section_list::load() {
  bool sound = true;
  time_ns end = 0;
  const auto begins = trace::column_set<trace::section_row>::of(&trace::section_row::time);
  from_->for_each_summary(trace::row_type::section, [&](const trace::chunk_info& chunk) {
    sound = sound && begins_.size() + chunk.rows <= max_sections;
    if (!sound) return;
    const auto rows = from_->read_summary<trace::section_row>(chunk, begins);
    sound = rows.has_value();
    if (!sound) return;
    begins_.reserve(begins_.size() + (*rows)->size() + 1);
    for (const trace::section_row& each : **rows) begins_.push_back(each.time);
    end = chunk.max_time;
  });
  if (!sound || begins_.empty()) return false;
  begins_.push_back(end);
  return std::is_sorted(begins_.begin(), begins_.end());
}

std::size_t section_list::section_at(time_ns time) const {
  const auto behind = std::upper_bound(begins_.begin(), begins_.end() - 1, time);
  return behind == begins_.begin() ? 0 : static_cast<std::size_t>(behind - begins_.begin() - 1);
}

std::uint64_t section_list::events(std::size_t section) const {
  if (from_) std::call_once(events_read_, [this] { load_events(); });
  return std::min(events_[section], max_events);
}

void section_list::load_events() const {
  std::vector<trace::section_row> rows;
  from_->for_each_summary(trace::row_type::section, [&](const trace::chunk_info& chunk) {
    if (!from_->read_summary(chunk, rows)) rows.assign(chunk.rows, {0, 0, max_events});
    for (const trace::section_row& each : rows) events_.push_back(each.events);
  });
  events_.resize(size(), max_events);
}

}  // namespace sluice::summary
