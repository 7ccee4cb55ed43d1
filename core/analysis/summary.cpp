#include "core/analysis/summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_set>

#include "core/analysis/index.hpp"
#include "core/analysis/line_use.hpp"
#include "core/analysis/mapped_runs.hpp"

namespace sluice::analysis {
namespace {

// --- peaks ----------------------------------------------------------------------------------------------------------

void find_holders(const memory_use& memory, const memory_key& key, memory_peak& peak) {
  std::map<std::tuple<trace::string_id, trace::pool_id>, holder> groups;
  for (const block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported() || block.device != key.device || block.level != key.level ||
        block.kind != key.kind || !block.live_at(peak.time)) {
      continue;
    }
    holder& group = groups[{block.name, block.pool}];
    group.name = block.name;
    group.pool = block.pool;
    ++group.blocks;
    group.bytes += block.bytes;
    if (block.bytes > group.largest_bytes || group.largest == trace::block_id::none) {
      group.largest = block.id;
      group.largest_bytes = block.bytes;
    }
    ++peak.blocks;
  }
  for (const auto& [name, group] : groups) peak.holders.push_back(group);
  std::stable_sort(peak.holders.begin(), peak.holders.end(),
                   [](const holder& a, const holder& b) { return a.bytes > b.bytes; });
  for (std::size_t i = summary::holder_limit; i < peak.holders.size(); ++i) peak.other_bytes += peak.holders[i].bytes;
  if (peak.holders.size() > summary::holder_limit) peak.holders.resize(summary::holder_limit);
}

std::vector<memory_peak> find_peaks(const memory_use& memory, const range_statistics& whole) {
  std::vector<memory_peak> peaks;
  for (const memory_statistics& of : whole.memory) {
    if (of.maximum == 0) continue;
    memory_peak peak{of.device, of.level, of.kind, of.maximum, of.maximum_time, 0, {}, 0, {}};
    find_holders(memory, {of.device, of.level, of.kind}, peak);
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

// --- blocks never freed ---------------------------------------------------------------------------------------------

bool has_ended(const trace::process_row* process) {
  return process != nullptr && (process->end != trace::unknown_time || process->exit_status >= 0);
}

/// `births` in any order.
bool in_each_quarter(const std::vector<time_ns>& births, time_ns end) {
  if (births.empty()) return false;
  const time_ns first = *std::min_element(births.begin(), births.end());
  const time_ns quarter = std::max<time_ns>((end - first) / 4, 1);
  std::array<bool, 4> seen{};
  for (const time_ns born : births)
    seen[static_cast<std::size_t>(std::clamp<time_ns>((born - first) / quarter, 0, 3))] = true;
  return std::all_of(seen.begin(), seen.end(), [](bool any) { return any; });
}

std::vector<unfreed_group> find_unfreed(const memory_use& memory, const trace::tables& tables, time_range range) {
  std::map<std::tuple<trace::process_id, trace::layer, trace::memory_kind>, unfreed_group> groups;
  std::map<std::tuple<trace::process_id, trace::layer, trace::memory_kind>, std::vector<time_ns>> births;
  for (const block_record& block : memory.blocks()) {
    if (!block.allocated || block.freed() || block.freed_after() || block.born_before() || block.imported()) continue;
    if (block.born < range.begin || block.born >= range.end) continue;
    const std::tuple key{block.process, block.level, block.kind};
    births[key].push_back(block.born);
    unfreed_group& group = groups[key];
    group.process = block.process;
    group.level = block.level;
    group.kind = block.kind;
    ++group.count;
    group.bytes += block.bytes;
    group.largest.push_back({block.id, block.alloc, block.name, block.device, block.address, block.bytes, block.born});
    // Keep no more than a few times what is shown.
    const auto bigger = [](const unfreed_block& a, const unfreed_block& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.block < b.block;
    };
    if (group.largest.size() >= 8 * summary::unfreed_limit) {
      std::nth_element(group.largest.begin(), group.largest.begin() + summary::unfreed_limit, group.largest.end(),
                       bigger);
      group.largest.resize(summary::unfreed_limit);
    }
  }
  std::vector<unfreed_group> all;
  for (auto& [key, group] : groups) {
    std::sort(group.largest.begin(), group.largest.end(), [](const unfreed_block& a, const unfreed_block& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.block < b.block;
    });
    if (group.largest.size() > summary::unfreed_limit) group.largest.resize(summary::unfreed_limit);
    group.keeps_growing = in_each_quarter(births[key], range.end);
    group.process_ended = has_ended(tables.processes.find(group.process));
    all.push_back(std::move(group));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return all;
}

std::vector<failed_allocation> find_failures(const memory_use& memory, time_range range) {
  std::vector<failed_allocation> all;
  for (const trace::alloc_failed_event& row : memory.failed()) {
    if (row.time < range.begin || row.time >= range.end) continue;
    all.push_back(
        {row.id, bounded(row.time), row.process, row.device, row.level, row.kind, row.name, row.bytes, row.error});
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return std::tuple(a.time, a.event) < std::tuple(b.time, b.event); });
  if (all.size() > summary::failure_limit) all.resize(summary::failure_limit);
  return all;
}

std::vector<gpu_fault> find_faults(const fault_index& from, time_range range) {
  std::vector<gpu_fault> all = from.faults();
  std::erase_if(all, [&](const gpu_fault& f) { return f.time < range.begin || f.time >= range.end; });
  return all;
}

// --- fragmentation --------------------------------------------------------------------------------------------------

/// Adds the holes that `children` (as offset and length) leave in a segment of `bytes`.
void add_holes(std::vector<std::pair<std::uint64_t, std::uint64_t>>& children, std::uint64_t bytes,
               fragmentation_figure& into) {
  std::sort(children.begin(), children.end());
  std::uint64_t end_of_used = 0;
  const auto hole = [&](std::uint64_t from, std::uint64_t to) {
    if (to <= from) return;
    into.free_bytes += to - from;
    into.largest_free = std::max(into.largest_free, to - from);
  };
  for (const auto& [offset, length] : children) {
    if (offset >= bytes) break;
    hole(end_of_used, offset);
    end_of_used = std::max(end_of_used, offset + std::min(length, bytes - offset));
  }
  hole(end_of_used, bytes);
}

std::vector<fragmentation_figure> find_fragmentation(const memory_use& memory, const std::vector<memory_peak>& peaks) {
  std::vector<fragmentation_figure> all;
  for (const memory_peak& peak : peaks) {
    if (peak.level == trace::layer::driver) continue;
    const std::span<const block_record> blocks = memory.blocks();
    std::vector<std::size_t> mappings;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].kind == trace::memory_kind::mapping && blocks[i].allocated && blocks[i].live_at(peak.time))
        mappings.push_back(i);
    const mapped_runs runs(blocks, mappings);
    std::map<std::size_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> segments;
    bool inside = true;  // Addresses that contradict the parents say nothing about holes.
    for (const block_record& block : memory.blocks()) {
      if (!block.allocated || block.level != peak.level || block.kind != peak.kind || block.device != peak.device)
        continue;
      const block_record* segment = memory.find(block.parent);
      if (segment == nullptr || !segment->live_at(peak.time)) continue;
      const std::size_t first = runs.first_of(static_cast<std::size_t>(segment - blocks.data()));
      auto& children = segments[first];
      if (!block.live_at(peak.time)) continue;
      inside = inside && block.address >= segment->address && block.address - segment->address < segment->bytes;
      children.emplace_back(block.address - blocks[first].address, block.reserved_bytes);
    }
    if (segments.empty() || !inside) continue;
    fragmentation_figure figure;
    figure.device = peak.device;
    figure.level = peak.level;
    figure.time = peak.time;
    for (auto& [at, children] : segments) {
      const std::uint64_t bytes = blocks[at].kind == trace::memory_kind::mapping ? runs.bytes_of(at) : blocks[at].bytes;
      ++figure.segments;
      figure.segment_bytes += bytes;
      add_holes(children, bytes, figure);
    }
    if (figure.free_bytes > 0) {
      figure.fragmentation = 1 - static_cast<double>(figure.largest_free) / static_cast<double>(figure.free_bytes);
    }
    all.push_back(figure);
  }
  return all;
}

// --- the rest -------------------------------------------------------------------------------------------------------

std::vector<process_figure> list_processes(const std::vector<process_watermark>& watermarks,
                                           const trace::tables& tables) {
  std::map<trace::process_id, time_ns> complete_until;
  for (const process_watermark& mark : watermarks) complete_until[mark.process] = mark.complete_until;
  std::vector<process_figure> all;
  for (const trace::process_row& row : tables.processes.rows()) {
    process_figure of;
    of.process = row.id;
    of.pid = row.pid;
    of.rank = row.rank;
    of.command = std::string(tables.text(row.command));
    of.exit_status = row.exit_status;
    of.mode = row.mode;
    of.begin = row.begin;
    of.end = row.end;
    const auto mark = complete_until.find(row.id);
    if (mark != complete_until.end()) of.complete_until = mark->second;
    all.push_back(std::move(of));
  }
  return all;
}

void put_warnings(const summary_figures& figures, const trace::snapshot& trace, summary& into) {
  std::vector<std::string>& all = into.warnings;
  all.assign(trace.warnings().begin(), trace.warnings().end());
  if (!into.complete) {
    all.push_back(trace.growing() ? "the recording still runs: these are its figures so far"
                                  : "the file was never closed, its writer died: what reached it is shown");
  }
  all.insert(all.end(), figures.warnings.begin(), figures.warnings.end());
  // What the recorder said went wrong: a rival profiler, a missing library.
  for (const recorded_message& said : figures.messages) {
    const std::string_view text = trace.tables().text(said.text);
    const bool known = std::find(all.begin(), all.end(), text) != all.end() ||
                       std::any_of(into.faults.begin(), into.faults.end(),  // A finding tells more of it.
                                   [&](const gpu_fault& f) { return f.event == said.event; });
    if (said.level != trace::severity::info && !text.empty() && !known) all.emplace_back(text);
  }
  if (into.whole.lost_memory_events > 0) {
    all.push_back("the recorder lost " + std::to_string(into.whole.lost_memory_events) +
                  " allocations and frees: memory figures are not exact");
  }
}

}  // namespace

summary summarise(const index& from, const trace::snapshot& trace, std::optional<time_range> range) {
  symbols::frame_book book({{}, trace.realtime_origin(), true});
  return summarise(from, trace, range, naming{book});
}

summary summarise(const index& from, const trace::snapshot& trace, std::optional<time_range> range,
                  const naming& names) {
  return summarise(figures_of(from, trace, range), trace, names);
}

summary_figures figures_of(const index& from, const trace::snapshot& trace, std::optional<time_range> range) {
  const trace::tables& tables = trace.tables();
  summary_figures all;
  all.events = from.events();
  all.blocks = static_cast<std::uint64_t>(std::count_if(from.memory().blocks().begin(), from.memory().blocks().end(),
                                                        [](const block_record& b) { return b.allocated; }));
  for (const auto& [process, complete_until] : from.watermarks()) all.watermarks.push_back({process, complete_until});
  all.whole = measure(from, tables, range.value_or(whole_of(trace)));
  all.peaks = find_peaks(from.memory(), all.whole);
  put_stacks(from, tables, all);
  all.unfreed = find_unfreed(from.memory(), tables, all.whole.range);
  all.imports = find_imports(from, all.whole.range);
  all.failures = find_failures(from.memory(), all.whole.range);
  all.faults = find_faults(from.faults(), all.whole.range);
  all.fragmentation = find_fragmentation(from.memory(), all.peaks);
  all.compositions = find_compositions(from, trace, all.peaks);
  all.steps = find_step_figures(from, trace, all.whole.range);
  all.unused = find_unused(from, trace, all.peaks, all.whole.range);
  all.duplicates = find_duplicates(from, all.whole.range);
  all.marks = find_marks(from.memory(), trace, all.whole.range);
  all.warnings = from.warnings();
  all.messages = from.messages();
  return all;
}

summary summarise(summary_figures figures, const trace::snapshot& trace, const naming& names) {
  const trace::tables& tables = trace.tables();
  summary all;
  all.span = whole_of(trace);
  all.complete = trace.complete();
  all.simulated = trace.simulated();
  all.file_bytes = trace.file_bytes();
  all.events = figures.events;
  all.blocks = figures.blocks;
  all.processes = list_processes(figures.watermarks, tables);
  all.peaks = std::move(figures.peaks);
  put_lines(figures, tables, names, all);
  all.unused = name_unused(figures.unused, tables, names);
  all.duplicates = name_duplicates(figures.duplicates, tables, names);
  all.whole = std::move(figures.whole);
  all.unfreed = std::move(figures.unfreed);
  all.imports = std::move(figures.imports);
  all.failures = std::move(figures.failures);
  all.faults = std::move(figures.faults);
  all.fragmentation = std::move(figures.fragmentation);
  all.compositions = std::move(figures.compositions);
  all.steps = std::move(figures.steps);
  all.marks = std::move(figures.marks);
  put_warnings(figures, trace, all);
  all.findings = findings_of(all, tables);
  return all;
}

}  // namespace sluice::analysis
