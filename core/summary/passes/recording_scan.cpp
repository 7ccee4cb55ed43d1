#include "core/summary/passes/recording_scan.hpp"

#include "core/index/tensors/training_steps.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/freed_memory.hpp"
#include "core/base/sort_runs.hpp"
#include "core/index/columns_needed.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::summary {
namespace {

constexpr std::size_t max_births = std::size_t{1} << 20;  // In all processes. They take 56 MiB.
constexpr std::size_t max_frees = std::size_t{1} << 19;   // In all processes. They take 8 MiB.
constexpr std::size_t min_window = 4 * index::min_pattern_blocks;
/// Frees may come before the allocation rows of their blocks. If there are more such frees than this, their blocks have
/// no rows.
constexpr std::size_t max_early_frees = std::size_t{1} << 16;
/// The scan does not wait for the steps of a process that has fewer blocks than this, or fewer than one block per
/// `very_few_blocks` events.
constexpr std::uint64_t few_blocks = std::uint64_t{1} << 14;
constexpr std::uint64_t very_few_blocks = 50;

/// True if the process will have no more allocations, because newer ones than its end are known.
bool has_ended(const trace::process_row& process, time_ns newest_birth) {
  return process.end != trace::unknown_time && bounded(process.end) < newest_birth;
}

}  // namespace

recording_scan::recording_scan(const trace::tables& tables)
    : tables_(tables), clues_(tables), max_births_(max_births) {}

recording_scan::recording_scan(const trace::snapshot& recording, const std::function<bool()>& wanted)
    : recording_scan(recording.tables()) {
  go_on(recording, wanted);
}

void recording_scan::go_on(const trace::snapshot& grown, const std::function<bool()>& wanted) {
  of_ = &grown;
  reads_ = true;
  for (; next_chunk_ < grown.chunks().size() && wanted(); ++next_chunk_) take_chunk(next_chunk_);
  settle();
}

void recording_scan::settle() {
  contents_.settle();
  for (auto& [process, kept] : births_) kept.settle();
  frees_kept_ = 0;
  std::erase_if(only_in_checkpoints_,
                [&](const trace::live_block_event& row) { return allocated_.contains(raw(row.block)); });
}

bool recording_scan::look_at(const trace::snapshot& written) {
  of_ = &written;
  settle();
  std::size_t next = 0;
  for (; next_chunk_ < written.chunks().size(); ++next_chunk_) {
    const trace::chunk_info& chunk = written.chunks()[next_chunk_];
    if (!trace::is_event(chunk.type)) continue;
    if (next == added_.size() || added_[next].type != chunk.type || added_[next].rows != chunk.rows) {
      other_chunks_ = true;
      break;
    }
    added_chunk& known = added_[next++];
    known.reach.chunk = next_chunk_;
    if (known.rows > 0) chunks_.add(known.reach, known.type);
    numbers_.push_back(next_chunk_);
  }
  other_chunks_ = other_chunks_ || next < added_.size();
  added_.clear();
  return !other_chunks_ && !unnumbered_;
}

template <class Row>
void recording_scan::each(std::size_t chunk) {
  std::vector<Row> rows;
  if (auto got = of_->read_into<Row>(chunk, rows, index::columns_needed<Row>(index::section_scope::everything)); !got) {
    unreadable_.push_back(got.error().to_string());
    return;
  }
  chunk_ = chunk;
  for (const Row& row : rows) add(row);
  end_chunk<Row>();
}

void recording_scan::take_chunk(std::size_t chunk) {
  switch (of_->chunks()[chunk].type) {
#define SLUICE_TAKE(row, kind)                                              \
  case trace::row_type::kind:                                               \
    if constexpr (trace::is_event_row<trace::row>) each<trace::row>(chunk); \
    return;
    SLUICE_FOR_EACH_ROW(SLUICE_TAKE)
#undef SLUICE_TAKE
    default:
      return;  // A row type of a newer version. The reader reports it.
  }
}

void recording_scan::take(const trace::alloc_event& row) {
  take_block(row, row.time);
  allocated_.insert(raw(row.block));
  if (!in_checkpoints_.contains(raw(row.block))) take_birth(row, row.time);
}

void recording_scan::take_birth(const trace::alloc_event& row, time_ns born) {
  if (row.block == trace::block_id::none || (row.flags & trace::born_before) != 0) return;
  births_of_process& process = births_[row.process];
  births& subject = process.layers[row.layer];
  subject.last.push_back({bounded(born), subject.count++, row.block, row.stack, row.thread, row.bytes});
  process.highest = std::max(process.highest, raw(row.block));
  newest_birth_ = std::max(newest_birth_, bounded(born));
  ++births_kept_;
  infer_steps_of(row.process, process, subject);
  if (births_kept_ > max_births_) keep_births_within_bounds();
}

void recording_scan::take(const trace::free_event& row) {
  births_of_process& of_process = births_[row.process];
  of_process.frees.emplace_back(row.block, bounded(row.time));
  if (of_process.frees.size() >= 2 * std::max(window_.due(), max_early_frees)) of_process.settle();
  if (++frees_kept_ < max_frees) return;
  for (auto& [process, kept] : births_) kept.settle();
  frees_kept_ = 0;
}

index::block_record recording_scan::birth::as_block() const {
  index::block_record record;
  record.id = block;
  record.born = born;
  record.bytes = bytes;
  record.stack = stack;
  record.thread = thread;
  if (died != trace::unknown_time) record.died = std::max(born, died);
  return record;
}

void recording_scan::births_of_process::settle() {
  const auto earlier = [](const birth& a, const birth& b) {
    return std::tuple(a.born, a.order) < std::tuple(b.born, b.order);
  };
  for (auto& [layer, subject] : layers) sort_runs(subject.last, earlier);
  if (frees.empty()) return;
  std::vector<birth*> known;
  for (auto& [layer, target] : layers)
    for (birth& each : target.last) known.push_back(&each);
  id_lookup places;
  places.expect_run(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) places.put(raw(known[i]->block), i);
  std::erase_if(frees, [&](const auto& each) {
    const std::size_t place = places.find(raw(each.first));
    if (place == id_lookup::none) return raw(each.first) <= highest;  // The block is no longer needed.
    if (known[place]->died == trace::unknown_time) known[place]->died = each.second;
    return true;
  });
  if (frees.size() > max_early_frees) frees.clear();
  if (frees.empty()) frees.shrink_to_fit();  // Otherwise, a process that has ended would keep the memory.
}

void recording_scan::infer_steps_of(trace::process_id process, births_of_process& of_process, births& subject) {
  if (subject.last.size() < window_.due()) return;
  of_process.settle();
  const auto leave_out = [&](std::size_t count) {
    subject.last.erase(subject.last.begin(), subject.last.begin() + static_cast<std::ptrdiff_t>(count));
    births_kept_ -= count;
  };
  if (marks_.tells_steps_of(process)) return leave_out(subject.last.size() - window_.blocks);
  const auto launches = marks_.find_launches(process, subject.steps.from());
  const auto times = marks_.find_kernel_times(process);
  while (subject.last.size() >= window_.due()) {
    std::vector<index::block_record> blocks;
    std::vector<const index::block_record*> in_order;
    blocks.reserve(window_.blocks + 1);
    in_order.reserve(window_.blocks + 1);
    for (std::size_t i = 0; i <= window_.blocks; ++i) blocks.push_back(subject.last[i].as_block());
    for (const index::block_record& block : blocks) in_order.push_back(&block);
    leave_out(subject.steps.take({process, in_order, launches, {}, times, clues_, tables_, 0}, window_));
  }
}

/// Infers the last steps of a process that has ended, and drops its births.
void recording_scan::finish_steps_of(trace::process_id process, births_of_process& of_process, time_ns end) {
  const auto is_done = [](const auto& layer) { return layer.second.last.empty(); };
  if (std::all_of(of_process.layers.begin(), of_process.layers.end(), is_done)) return;
  of_process.settle();
  const auto times = marks_.find_kernel_times(process);
  const auto kernels = marks_.list_kernels(process);
  for (auto& [layer, subject] : of_process.layers) {
    std::vector<index::block_record> blocks;
    std::vector<const index::block_record*> in_order;
    blocks.reserve(subject.last.size());
    for (const birth& each : subject.last) blocks.push_back(each.as_block());
    for (const index::block_record& block : blocks) in_order.push_back(&block);
    const auto launches = marks_.find_launches(process, subject.steps.from());
    if (!marks_.tells_steps_of(process))
      subject.steps.finish({process, in_order, launches, kernels, times, clues_, tables_, end});
    births_kept_ -= subject.last.size();
    release(subject.last);
  }
}

/// Finishes processes that have ended. If there are still too many births, infers steps from fewer blocks at once.
void recording_scan::keep_births_within_bounds() {
  for (auto& [process, whole] : births_) {
    const trace::process_row* row = tables_.processes.find(process);
    if (row != nullptr && has_ended(*row, newest_birth_)) finish_steps_of(process, whole, bounded(row->end));
  }
  while (births_kept_ > max_births && window_.blocks > min_window) {
    window_.blocks /= 2;
    window_.behind /= 2;
    for (auto& [process, full] : births_)
      for (auto& [layer, subject] : full.layers) {
        infer_steps_of(process, full, subject);
        subject.last.shrink_to_fit();
      }
  }
  // If this did not help, do not try again at every birth.
  max_births_ = std::max(max_births, births_kept_ + max_births / 4);
}

void recording_scan::take(const trace::checkpoint_event& row) {
  listed_blocks& known = checkpoints_[row.id];
  known.checkpoint.about = row;
  known.seen = true;
}

void recording_scan::take(const trace::live_block_event& row) {
  listed_blocks& listed = checkpoints_[row.checkpoint];
  if (listed.blocks++ == 0) listed.checkpoint.first_chunk = chunk_;
  listed.checkpoint.last_chunk = chunk_;
  take_block(row, row.born);
  if (row.block == trace::block_id::none || allocated_.contains(raw(row.block)) ||
      in_checkpoints_.contains(raw(row.block)))
    return;
  in_checkpoints_.insert(raw(row.block));
  only_in_checkpoints_.push_back(row);
  take_birth(row, row.born);
}

std::vector<recording_scan::loss_checkpoint> recording_scan::loss_checkpoints() const {
  std::vector<loss_checkpoint> checkpoints;
  for (const auto& [id, known] : checkpoints_)
    if (known.seen && index::shows_lost_frees(known.checkpoint.about, known.blocks, losses_)) {
      checkpoints.push_back(known.checkpoint);
      if (reads_ || known.blocks == 0) continue;
      checkpoints.back().first_chunk = numbers_[known.checkpoint.first_chunk];
      checkpoints.back().last_chunk = numbers_[known.checkpoint.last_chunk];
    }
  std::sort(checkpoints.begin(), checkpoints.end(), [](const loss_checkpoint& a, const loss_checkpoint& b) {
    return std::tuple(a.about.time, a.about.id) < std::tuple(b.about.time, b.about.id);
  });
  return checkpoints;
}

std::optional<std::vector<index::complete_checkpoint>> recording_scan::listed_by(
    std::span<const loss_checkpoint> checkpoints, const std::function<bool()>& wanted) const {
  std::vector<index::complete_checkpoint> complete_checkpoints;
  std::unordered_map<std::uint64_t, std::size_t> places;
  std::size_t first = SIZE_MAX, last = 0;
  for (const loss_checkpoint& each : checkpoints) {
    places.emplace(raw(each.about.id), complete_checkpoints.size());
    complete_checkpoints.push_back({each.about.process, bounded(each.about.time), {}});
    if (each.about.blocks == 0) continue;
    first = std::min(first, each.first_chunk);
    last = std::max(last, each.last_chunk);
  }
  std::vector<trace::event_id> ids;
  std::vector<trace::block_id> blocks;
  for (const std::size_t chunk : get_chunks(trace::row_type::live_block)) {
    using row = trace::live_block_event;
    if (chunk < first || chunk > last) continue;
    if (!wanted() || !of_->read_column<row>(chunk, &row::checkpoint, ids) ||
        !of_->read_column<row>(chunk, &trace::alloc_event::block, blocks))
      return std::nullopt;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (const auto place = places.find(raw(ids[i])); place != places.end())
        complete_checkpoints[place->second].live.push_back(blocks[i]);
  }
  for (index::complete_checkpoint& each : complete_checkpoints) std::sort(each.live.begin(), each.live.end());
  return complete_checkpoints;
}

std::vector<std::size_t> recording_scan::get_chunks(trace::row_type type) const {
  std::vector<std::size_t> values = *chunks_.all();
  std::erase_if(values, [&](std::size_t chunk) { return of_->chunks()[chunk].type != type; });
  return values;
}

std::optional<id_set> recording_scan::freed(const std::function<bool()>& wanted) const {
  id_set set;
  std::vector<trace::block_id> blocks;
  for (const std::size_t chunk : get_chunks(trace::row_type::free)) {
    if (!wanted() || !of_->read_column<trace::free_event>(chunk, &trace::free_event::block, blocks))
      return std::nullopt;
    for (const trace::block_id block : blocks) set.insert(raw(block));
  }
  return set;
}

void recording_scan::take_block(const trace::alloc_event& row, time_ns born) {
  if (row.block == trace::block_id::none) return;
  const bool counts = (row.flags & trace::ipc_import) == 0;
  if (counts && row.layer == trace::layer::driver && row.pool != trace::pool_id::none) with_segments_.insert(row.pool);
  if (index::is_device_resident(row.kind)) memories_[row.process].insert({row.device, row.layer, row.kind});
  if (!index::holds_tensors(row.layer)) return;
  const bool before = (row.flags & trace::born_before) != 0;
  clues_.add({row.process, row.thread, row.stream, row.stack, bounded(born), row.bytes, before});
}

void recording_scan::take(const trace::api_call_event& row) {
  take<trace::api_call_event>(row);
  faults_.add(row);
}

void recording_scan::take(const trace::host_range_event& row) {
  take<trace::host_range_event>(row);
  marks_.add(row, tables_);
}

void recording_scan::take(const trace::kernel_event& row) {
  take<trace::kernel_event>(row);
  with_kernels_.insert(row.device);
  marks_.add(row);
}

void recording_scan::take(const trace::graph_launch_event& row) {
  take<trace::graph_launch_event>(row);
  marks_.add(row);
}

void recording_scan::take(const trace::message_event& row) {
  messages_.push_back({row.severity, bounded(row.time), row.text, row.id});
}

void recording_scan::take(const trace::pool_event& row) {
  take_sample(trace::sampled_thing::pool, raw(row.pool), row, [&](trace::last_sample_row& sample_row) {
    sample_row.pool = row.pool;
    sample_row.reserved = row.reserved;
    sample_row.used = row.used;
  });
}

void recording_scan::take(const trace::device_memory_event& row) {
  take_sample(trace::sampled_thing::device, raw(row.device), row, [&](trace::last_sample_row& sample_row) {
    sample_row.device = row.device;
    sample_row.free = row.free;
    sample_row.total = row.total;
    sample_row.recorder = row.recorder;
  });
}

void recording_scan::take(const trace::counter_event& row) {
  if (!std::isfinite(row.value)) return;
  take_sample(trace::sampled_thing::counter, raw(row.counter), row, [&](trace::last_sample_row& sample_row) {
    sample_row.counter = row.counter;
    sample_row.value = row.value;
  });
}

void recording_scan::take(const trace::touch_event& row) {
  if (row.block == trace::block_id::none) return;
  ++touches_;
  if (row.graph != trace::graph_id::none) graph_touches_.add(row, tables_);
}

void recording_scan::take(const trace::attribute_event& row) {
  faults_.add(row, tables_);
  if (row.target == trace::event_id::none || row.text == trace::string_id::none) return;
  if (tables_.text(row.key) != "category") return;
  categories_[raw(row.target)] = row.text;  // The last row counts.
  lowest_tagged_ = std::min(lowest_tagged_, raw(row.target));
}

void recording_scan::take(const trace::link_event& row) {
  if (row.kind == trace::link_kind::import_to_owner) import_owners_[raw(row.from)] = {row.to, row.source};
}

template <class Fill>
void recording_scan::take_sample(trace::sampled_thing thing, std::uint64_t id, const trace::event_base& event,
                                 Fill&& fill) {
  const auto [place, fresh] = first_samples_.try_emplace({thing, id});
  trace::last_sample_row& known = place->second;
  const time_ns time = bounded(event.time);
  // If two samples have the same time, the later row counts.
  const bool earlier = time < known.sampled || (time == known.sampled && event.id >= known.event);
  if (!fresh && !earlier) return;
  known.type = thing;
  known.sampled = time;
  known.event = event.id;
  fill(known);
}

std::vector<index::block_graph_use> recording_scan::graphs() const {
  std::vector<index::block_graph_use> uses;
  graph_touches_.for_each_block([&](trace::block_id block) {
    for (const index::graph_use& use : graph_touches_.find_graphs(block))
      uses.push_back({block, use, graph_touches_.graph_copies(use.graph)});
  });
  index::sort_by_graph(uses);
  return uses;
}

std::vector<trace::last_sample_row> recording_scan::first_samples() const {
  std::vector<trace::last_sample_row> rows;
  for (const auto& [thing, row] : first_samples_) rows.push_back(row);
  return rows;
}

std::shared_ptr<const index::step_facts> recording_scan::steps() const {
  auto facts = std::make_shared<index::step_facts>();
  index::step_facts& step_facts = *facts;
  const time_ns end = index::recorded_range(*of_).end;
  const auto take = [&](trace::process_id process, index::step_list found) {
    if (!found.steps.empty()) step_facts.add(process, std::move(found));
  };
  for (const trace::process_id process : marks_.processes()) take(process, marks_.of(process, end));
  const std::vector<loss_checkpoint> checkpoints = loss_checkpoints();
  for (const trace::process_row& row : tables_.processes.rows())
    if (!step_facts.sources().contains(row.id))
      take(row.id, get_steps(row.id, births_for_pattern(row.id), checkpoints, end));
  return facts;
}

time_ns recording_scan::steps_settled_until() const {
  time_ns until = latest_time;
  for (const trace::process_row& row : tables_.processes.rows()) {
    const births* subject =
        marks_.tells_steps_of(row.id) || has_ended(row, newest_birth_) ? nullptr : births_for_pattern(row.id);
    if (subject == nullptr) continue;
    const bool few = subject->count < few_blocks || subject->count * very_few_blocks < events_;
    if (subject->steps.from() != -latest_time || !few) until = std::min(until, subject->steps.from());
  }
  return until;
}

const recording_scan::births* recording_scan::births_for_pattern(trace::process_id process) const {
  const auto known = births_.find(process);
  if (known == births_.end()) return nullptr;
  for (const trace::layer layer : index::pattern_layers) {
    const auto found = known->second.layers.find(layer);
    if (found != known->second.layers.end() && found->second.count >= index::min_pattern_blocks) return &found->second;
  }
  return nullptr;
}

/// Infers lost frees, as `memory_use::infer_deaths` does.
void recording_scan::infer_deaths(trace::process_id process, std::span<const loss_checkpoint> checkpoints,
                                  std::span<index::block_record> blocks) const {
  for (const loss_checkpoint& each : checkpoints) {
    if (each.about.process != process) continue;
    const time_ns time = bounded(each.about.time);
    const auto is_later = [&](const index::block_record& block) { return !block.freed() && block.born < time; };
    if (std::none_of(blocks.begin(), blocks.end(), is_later)) continue;
    const auto listed = listed_by(std::span(&each, 1), [] { return true; });
    if (!listed) continue;  // The chunks were readable before, so later passes report this error.
    const std::vector<trace::block_id>& live = listed->front().live;
    for (index::block_record& block : blocks)
      if (is_later(block) && !std::binary_search(live.begin(), live.end(), block.id)) block.died = time;
  }
}

index::step_list recording_scan::get_steps(trace::process_id process, const births* subject,
                                           std::span<const loss_checkpoint> checkpoints, time_ns end) const {
  std::vector<index::block_record> blocks;
  std::vector<const index::block_record*> in_order;
  if (subject != nullptr)
    for (const birth& each : subject->last) blocks.push_back(each.as_block());
  in_order.reserve(blocks.size());
  for (const index::block_record& block : blocks) in_order.push_back(&block);
  infer_deaths(process, checkpoints, blocks);
  const auto launches =
      subject == nullptr ? marks_.find_launches(process) : marks_.find_launches(process, subject->steps.from());
  const auto kernels = marks_.list_kernels(process);
  const auto times = marks_.find_kernel_times(process);
  const index::step_evidence by{process, in_order, launches, kernels, times, clues_, tables_, end};
  return subject == nullptr ? index::infer_steps(by) : subject->steps.with_rest(by);
}

metrics::unsectioned_facts collect_unsectioned_facts(const recording_scan& known, std::uint64_t malformed) {
  metrics::unsectioned_facts facts;
  facts.events = known.events();
  facts.warnings = known.unreadable();
  if (const std::uint64_t total = known.malformed() + malformed; total > 0)
    facts.warnings.push_back(index::words_of_malformed(total));
  facts.messages = known.messages();
  facts.faults = known.faults().faults();
  facts.memories = known.memories();
  facts.owners = &known.import_owners();
  facts.contents = &known.contents();
  return facts;
}

}  // namespace sluice::summary
