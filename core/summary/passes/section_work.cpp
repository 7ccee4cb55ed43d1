#include "core/summary/passes/section_work.hpp"

#include <algorithm>
#include <utility>

#include "core/base/freed_memory.hpp"
#include "core/index/section_index.hpp"
#include "core/summary/passes/section_begin.hpp"

namespace sluice::summary {

struct slice_owners {
  std::vector<index::recording_facts::stream> streams;
  std::vector<index::recording_facts::direction> directions;
  std::vector<index::recording_facts::thread> threads;

  static slice_owners of(const index::event_store& part) {
    slice_owners owners;
    for (const auto& [key, slices] : part.devices().streams()) owners.streams.push_back({key, slices.lanes()});
    for (const auto& [key, work] : part.devices().directions())
      owners.directions.push_back({key, work.slices.lanes(), 0});
    for (const auto& [key, work] : part.host().threads())
      owners.threads.push_back({key, work.ranges.lanes(), work.calls.lanes()});
    return owners;
  }

  /// Returns the position in `owners` of a slice's owner. `owners` must contain all owners in this object.
  [[nodiscard]] std::uint32_t place_in(const slice_owners& owners, const trace::open_slice_row& slice) const {
    const auto place = [&](const auto& here, const auto& there) {
      const auto found =
          std::find_if(there.begin(), there.end(), [&](const auto& each) { return each.key == here[slice.owner].key; });
      return static_cast<std::uint32_t>(found - there.begin());
    };
    if (slice.type == trace::lane_kind::stream) return place(streams, owners.streams);
    if (slice.type == trace::lane_kind::direction) return place(directions, owners.directions);
    return place(threads, owners.threads);
  }

  /// Returns these owners at their positions, but with their current lanes, followed by the owners that are new in
  /// `later`.
  [[nodiscard]] slice_owners with(const slice_owners& later) const {
    slice_owners owners = *this;
    const auto add = [](const auto& source, auto& to) {
      for (const auto& each : source) {
        const auto known = std::find_if(to.begin(), to.end(), [&](const auto& have) { return have.key == each.key; });
        known == to.end() ? to.push_back(each) : void(*known = each);
      }
    };
    add(later.streams, owners.streams);
    add(later.directions, owners.directions);
    add(later.threads, owners.threads);
    return owners;
  }

  void put_into(index::recording_facts& facts) const {
    facts.streams = streams;
    facts.directions = directions;
    facts.threads = threads;
  }
};

section_work::section_work(const recording_scan& known)
    : known_(known),
      whole_(std::make_shared<index::recording_facts>()),
      owners_(std::make_shared<const slice_owners>()) {}

section_work::section_work(const section_work& other)
    : known_(other.known_),
      span_(other.span_),
      begins_(other.begins_),
      first_samples_(other.first_samples_),
      whole_(std::make_shared<index::recording_facts>(*other.whole_)),
      owners_(other.owners_),
      boundaries_(other.boundaries_),
      written_(other.written_),
      written_for_(other.written_for_),
      samples_before_(other.samples_before_),
      highest_rates_(other.highest_rates_),
      counters_(other.counters_) {}

void section_work::begin(std::span<const time_ns> begins, std::shared_ptr<const index::chunk_index> chunks) {
  span_ = index::recorded_range(known_.trace());
  begins_ = begins;
  first_samples_ = known_.first_samples();
  std::erase_if(first_samples_, [](const auto& row) { return row.type != trace::sampled_thing::counter; });
  whole_->chunks = std::move(chunks);
}

section_work::~section_work() = default;

std::optional<std::vector<trace::last_sample_row>> section_work::go_through(std::size_t section,
                                                                            const std::function<bool()>& goes_on) {
  if (boundaries_.size() != section) return std::nullopt;  // The previous section could not be read.
  index::section_facts about = get_begin(section, index::section_part::work, begins_, whole_);
  add_samples_outside(first_samples_, about);
  add_samples_outside(samples_before_, about);
  if (section > 0)
    for (const trace::open_slice_row& row : boundaries_.back().rows) about.open.push_back(make_slice(row));
  const time_range run = about.run;
  index::section_index part(std::move(about));
  if (!part.absorb(known_.trace(), goes_on) || !part.is_complete()) return std::nullopt;
  for (const auto& [key, work] : part.devices().directions()) {
    const auto over = work.rate.over(std::max(run.begin, span_.begin), std::min(run.end, span_.end));
    double& highest = highest_rates_[key];
    if (!over.empty()) highest = std::max(highest, over.maximum);
  }
  owners_ = std::make_shared<const slice_owners>(slice_owners::of(part));
  owners_->put_into(*whole_);
  index::memory_use none;
  index::set_known_samples(index::first_and_highest_samples(none, part.counters()), none, counters_);
  samples_before_.clear();
  if (section + 1 == begins_.size()) return samples_before_;
  boundaries_.push_back({open_slices_at(begins_[section + 1], part), owners_});
  return samples_before_ = index::samples_before(begins_[section + 1], none, part.counters());
}

void section_work::settle(section_writer& into, section_work& ahead) {
  ahead.keep_numbers();
  ahead.owners_->put_into(*ahead.whole_);
  written_for_ = ahead.owners_;
  write_open_slices(into, *written_for_);
  ahead.written_ = written_;
}

void section_work::keep_numbers() {
  if (written_for_) owners_ = std::make_shared<const slice_owners>(written_for_->with(*owners_));
}

void section_work::write_open_slices(section_writer& into, const slice_owners& owners) {
  if (written_ > 0 && written_ < boundaries_.size()) release(boundaries_[written_ - 1].rows);
  for (; written_ < boundaries_.size(); ++written_) {
    boundary_slices& at = boundaries_[written_];
    std::vector<trace::open_slice_row> rows = at.rows;
    for (trace::open_slice_row& row : rows) row.owner = at.by->place_in(owners, row);
    into.add_open_slices(written_ + 1, rows);
    if (written_ + 1 < boundaries_.size()) release(at.rows);
  }
}

void section_work::put_facts(index::recording_facts& into) const {
  owners_->put_into(into);
  for (index::recording_facts::direction& each : into.directions) each.highest_rate = highest_rates_.at(each.key);
}

index::counter_trees section_work::take_counters() {
  for (auto& [id, tree] : counters_) tree.settle();
  return std::move(counters_);
}

}  // namespace sluice::summary
