#include "core/summary/passes/reordered_copy.hpp"

#include <algorithm>
#include <utility>

#include "core/index/event_store.hpp"
#include "core/summary/passes/planned_sections.hpp"

namespace sluice::summary {

result<std::unique_ptr<reordered_copy>> reordered_copy::beside(const trace::file_writer& file_writer,
                                                               double section_events) {
  auto output = file_writer.create_beside();
  if (!output) return tl::unexpected(output.error());
  return std::make_unique<reordered_copy>(std::move(*output), file_writer.path(), section_events);
}

reordered_copy::reordered_copy(trace::file_writer to, std::string text, double section_events)
    : to_(std::move(to)), of_(std::move(text)), section_events_(section_events) {}

result<void> reordered_copy::grow(std::shared_ptr<const trace::snapshot> so_far, time_ns until,
                                  const std::function<bool()>& goes_on) {
  if (index::recorded_range(*so_far).length() <= 0) return {};
  const auto next = next_sections(*so_far, section_events_, sections_, until);
  sections_.insert(sections_.end(), next.begin(), next.end());
  if (sections_.empty() || sections_.back().end <= moved_until_) return {};
  so_far_ = std::move(so_far);
  tables_ = so_far_->tables();
  if (auto taken = moves_.take(*so_far_, goes_on); !taken) return taken;
  for (const trace::section_row& section : sections_) {
    if (section.end <= moved_until_) continue;
    const auto rows = section.end == sections_.back().end ? rows_moved::all : rows_moved::many;
    if (auto moved = moves_.move_until(*so_far_, section.end, goes_on, rows); !moved) return moved;
    moved_until_ = section.end;
  }
  return {};
}

void reordered_copy::sum_up_so_far(const std::function<bool()>& wanted) {
  if (!scanned_ || !sums_.is_due(sections_.size())) return;
  if (snapshot() && scanned_) {
    sums_.go_on(sections_, wanted);
  } else {
    sums_.give_up();
  }
}

result<std::shared_ptr<const trace::snapshot>> reordered_copy::snapshot() {
  if (!reader_) {
    auto opened = trace::file::open(to_.path(), {.for_its_writer = true});
    if (!opened) return tl::unexpected(opened.error());
    reader_ = std::move(*opened);
  } else if (const auto more = reader_->refresh(); !more) {
    return tl::unexpected(more.error());
  }
  moved_ = reader_->latest();
  scanned_ = scan_.look_at(*moved_) && scanned_;
  return moved_;
}

bool reordered_copy::is_part_of(const trace::file_writer& file_writer, const trace::snapshot& whole) const {
  if (file_writer.path() != of_) return false;
  if (!so_far_) return true;
  const auto same = [](const trace::chunk_info& a, const trace::chunk_info& b) {
    return a.type == b.type && a.rows == b.rows && a.offset == b.offset && a.stored_bytes == b.stored_bytes &&
           a.min_time == b.min_time && a.max_time == b.max_time;
  };
  const auto part = so_far_->chunks();
  return part.size() <= whole.chunks().size() && std::equal(part.begin(), part.end(), whole.chunks().begin(), same);
}

result<void> reordered_copy::complete(const trace::snapshot& whole, const std::function<bool()>& goes_on) {
  sections_ = planned_sections(whole, section_events_, sections_);
  so_far_.reset();
  tables_ = whole.tables();
  if (auto taken = moves_.take(whole, goes_on); !taken) return taken;
  for (std::size_t i = 0; i + 1 < sections_.size(); ++i) {
    if (sections_[i].end <= moved_until_) continue;
    if (auto moved = moves_.move_until(whole, sections_[i].end, goes_on); !moved) return moved;
    moved_until_ = sections_[i].end;
  }
  return moves_.move_rest(whole, goes_on);
}

}  // namespace sluice::summary
