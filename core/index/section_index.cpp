#include "core/index/section_index.hpp"

#include <algorithm>
#include <iterator>

#include "core/index/boundary_samples.hpp"
#include "core/index/event_span.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::index {

using trace::row_type;

void section_index::set_known(const section_facts& about) {
  const auto has = [&](section_part part) { return about.part == section_part::all || about.part == part; };
  if (has(section_part::memory)) set_known_memory(about);
  if (!is_drawn(about.scope)) return;
  if (about.part != section_part::uses) set_known_samples(about);
  if (has(section_part::work)) {
    for (const trace::device_id each : about.whole->with_kernels) devices_.set_known_kernels(each);
    // Slices that are open at the start are only known for all processes together. For a single process, they are read
    // from rows, and their lanes are not known.
    if (about.only == trace::process_id::none) set_known_slices(about);
  }
  if (about.scope == section_scope::everything && has(section_part::uses)) set_known_uses(about);
}

void section_index::set_known_memory(const section_facts& about) {
  const recording_facts& whole = *about.whole;
  for (const recording_facts::memory& each : whole.memories) memory_.set_known(each.key, each.highest, each.stacks);
  for (const recording_facts::pool& each : whole.pools)
    memory_.set_known(each.pool, each.has_segments, each.has_blocks ? std::optional(each.highest) : std::nullopt);
  for (const known_block& each : about.blocks) memory_.set_known(each.block);
  for (const block_record& each : about.carried) memory_.continue_from(each);
  for (const trace::live_block_event& each : about.births) memory_.add(each);
}

void section_index::set_known_uses(const section_facts& about) {
  touches_.set_known(about.whole->touches);
  touches_.set_known(std::span(about.whole->graphs));
  for (const known_uses& each : about.uses) touches_.set_known(each.block, each.uses);
  if (about.unfolding) touches_.only_within(about.run);
}

void section_index::set_known_samples(const section_facts& about) {
  // The samples of a device are consecutive and in order of time. The index needs only three samples from outside the
  // run: the first, the last before the run, and the highest.
  const std::vector<recording_facts::untracked>& known = about.whole->not_tracked;
  for (auto first = known.begin(); first != known.end();) {
    const auto behind =
        std::find_if(first, known.end(), [&](const auto& each) { return each.device != first->device; });
    const auto add = [&](const recording_facts::untracked& each) {
      memory_.set_known_untracked(each.device, {each.time, each.value, each.order});
    };
    add(*first);
    add(*std::max_element(first, behind, [](const auto& a, const auto& b) { return a.value < b.value; }));
    const auto before = [](const auto& each, time_ns time) { return each.time < time; };
    auto next = std::lower_bound(first, behind, about.run.begin, before);
    if (next != first) --next;
    for (; next != behind && next->time < about.run.end; ++next) add(*next);
    first = behind;
  }
  if (known.empty() && !about.unfolding) set_known_untracked(about.samples, memory_);
  std::vector<trace::last_sample_row> outside;  // All other samples are in the rows of the section.
  std::copy_if(about.samples.begin(), about.samples.end(), std::back_inserter(outside),
               [&](const auto& each) { return each.sampled < about.run.begin || each.sampled >= about.run.end; });
  index::set_known_samples(outside, memory_, counters_);
}

void section_index::set_known_slices(const section_facts& about) {
  const recording_facts& whole = *about.whole;
  const time_ns begin = about.run.begin;
  std::map<trace::lane_kind, std::vector<timeline::slice_set*>> sets;
  for (const recording_facts::stream& each : whole.streams)
    sets[trace::lane_kind::stream].push_back(&devices_.set_known(each.key, each.lanes, begin));
  for (const recording_facts::direction& each : whole.directions)
    sets[trace::lane_kind::direction].push_back(&devices_.set_known(each.key, each.lanes, each.highest_rate, begin));
  for (const recording_facts::thread& each : whole.threads) {
    thread_work& work = host_.set_known(each.key, each.range_lanes, each.call_lanes, begin);
    sets[trace::lane_kind::host_ranges].push_back(&work.ranges);
    sets[trace::lane_kind::host_calls].push_back(&work.calls);
  }
  for (const known_slice& each : about.open) {
    const auto found = sets.find(each.kind);
    if (found != sets.end() && each.owner < found->second.size())
      found->second[each.owner]->set_known(each.item, each.lane);
  }
}

section_index::section_index(section_facts about) {
  known_ = std::make_unique<const section_facts>(std::move(about));
  only_ = known_->only;
}

bool section_index::absorb(const trace::snapshot& recording, const std::function<bool()>& goes_on) {
  if (known_->scope < section_scope::metrics || known_->unfolding) {
    touches_.leave_out_accesses();
    devices_.leave_out_busy();
    host_.leave_out_busy();
  }
  std::vector<std::size_t> wanted;
  std::size_t allocations = 0;
  for (const std::size_t chunk : known_->chunks) {
    const trace::chunk_info about = recording.chunk(chunk);
    if (chunk >= recording.chunk_count() || !is_in(known_->scope, about.type) || !is_in(known_->part, about.type))
      continue;
    wanted.push_back(chunk);
    if (about.type == row_type::alloc) allocations += about.rows;
  }
  constexpr std::size_t max_expected = std::size_t{1} << 21;  // A file can claim to have any number of rows.
  allocations = std::min(allocations, max_expected);
  memory_.expect(known_->blocks.size() + known_->carried.size(), allocations);
  set_known(*known_);
  memory_.expect_births(allocations);
  if (is_in(known_->part, row_type::touch)) expect_uses(recording);
  for (const std::size_t chunk : wanted) {
    take(recording, chunk);
    if (goes_on && !goes_on()) return false;
  }
  for (const complete_checkpoint& each : known_->checkpoints) memory_.infer_deaths(each, known_->freed);
  next_ = recording.chunk_count();
  settle(recording);
  if (known_->scope == section_scope::everything && !known_->unfolding) find_stacks_of_copies(recording, wanted);
  constexpr std::size_t many_blocks = 100'000;
  if (known_->scope == section_scope::memory && known_->blocks.size() > many_blocks) forget_reported_blocks(recording);
  return true;
}

/// Most uses are uses of blocks that were allocated in the section. Unless there are many processes, these blocks have
/// consecutive ids.
void section_index::expect_uses(const trace::snapshot& recording) {
  constexpr std::size_t times_as_many = 2;
  std::uint64_t first = UINT64_MAX, last = 0, births = 0;
  const std::span<const chunk_reach> reaches = known_->whole->chunks->known();  // In memory while summaries are built.
  for (const std::size_t chunk : known_->chunks) {
    if (reaches.empty() || chunk >= recording.chunk_count() || recording.chunk(chunk).type != row_type::alloc) continue;
    const auto reach = std::lower_bound(reaches.begin(), reaches.end(), chunk,
                                        [](const chunk_reach& each, std::size_t value) { return each.chunk < value; });
    if (reach == reaches.end() || reach->chunk != chunk) continue;
    first = std::min(first, reach->lowest_block);
    last = std::max(last, reach->highest_block);
    births += recording.chunk(chunk).rows;
  }
  if (first <= last && last - first < times_as_many * births)
    touches_.expect(trace::block_id{first}, static_cast<std::size_t>(last - first + 1));
}

/// Frees the facts about blocks that come from the file and have been copied into this index, because with a million
/// live blocks, two copies would take too much memory.
void section_index::forget_reported_blocks(const trace::snapshot& recording) {
  tensors_ = std::make_shared<const tensor_facts>(find_tensor_facts(*this, recording));
  tensors_fresh_ = true;
  auto left = std::make_unique<section_facts>();
  left->scope = known_->scope;
  left->run = known_->run;
  left->whole = known_->whole;
  left->samples_known = known_->samples_known;
  known_ = std::move(left);
}

void section_index::keep_what_is_drawn(const trace::snapshot& recording) {
  tensor_facts drawn = find_tensor_facts(*this, recording);
  drawn.categories = std::vector<block_category>();  // These are indexed by block, and the blocks have been freed.
  tensors_ = std::make_shared<const tensor_facts>(std::move(drawn));
  tensors_fresh_ = true;
  memory_.forget_blocks();
  auto left = std::make_unique<section_facts>();
  left->scope = known_->scope;
  left->run = known_->run;
  left->whole = known_->whole;
  known_ = std::move(left);
}

void section_index::find_stacks_of_copies(const trace::snapshot& recording, std::span<const std::size_t> taken) {
  std::vector<std::uint64_t> wanted;
  for (const copy_record& copy : copies_.copies()) {
    if (copy.call == trace::event_id::none || copies_.find_stack(copy.call) != trace::stack_id::none) continue;
    wanted.push_back(raw(copy.call));
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<trace::api_call_event> rows;
  const auto chunks = known_->whole->chunks->find([&](const chunk_reach& reach) {
    const auto next = std::lower_bound(wanted.begin(), wanted.end(), reach.lowest_event);
    return next != wanted.end() && *next <= reach.highest_event;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (recording.chunk(chunk).type != trace::row_type::api_call) continue;
    if (!recording.read_into<trace::api_call_event>(chunk, rows)) continue;
    // The calls in the run are already known.
    const bool is_taken = std::binary_search(taken.begin(), taken.end(), chunk);
    std::erase_if(rows, [&](const auto& row) { return is_taken && lies_in(row, known_->run); });
    copies_.add(rows);
  }
  copies_.settle();
}

}  // namespace sluice::index
