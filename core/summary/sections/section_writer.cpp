#include "core/summary/sections/section_writer.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/boundary_blocks.hpp"
#include "core/summary/stored/recording_facts_format.hpp"
#include "core/summary/stored/serialize.hpp"

namespace sluice::summary {
namespace {

constexpr std::size_t rows_a_chunk = 4096;
constexpr std::size_t reaches_a_chunk = 1024;
/// The minimum number of rows in a chunk that ends where another boundary begins.
constexpr std::size_t min_rows = 1024;

trace::boundary_block_row make_row(const index::block_record& b, index::block_category category) {
  trace::boundary_block_row row;
  row.time = b.born;
  row.end = b.freed() ? b.died : latest_time;
  row.block = b.id;
  row.parent = b.parent;
  row.alloc = b.alloc;
  row.free = b.free;
  row.process = b.process;
  row.thread = b.thread;
  row.device = b.device;
  row.stream = b.stream;
  row.pool = b.pool;
  row.stack = b.stack;
  row.name = b.name;
  row.address = b.address;
  row.bytes = b.bytes;
  row.reserved_bytes = b.reserved_bytes;
  row.flags = b.flags;
  row.layer = b.layer;
  row.kind = b.kind;
  row.death_inferred = b.death_inferred;
  row.category = static_cast<std::uint8_t>(category.kind);
  row.reason = static_cast<std::uint8_t>(category.why);
  return row;
}

trace::block_uses_row make_row(const index::block_record& b, const index::block_touches& uses) {
  trace::block_uses_row row;
  row.time = b.born;
  row.end = b.freed() ? b.died : latest_time;
  row.block = b.id;
  row.first_time = uses.first.time;
  row.first_event = uses.first.event;
  row.last_time = uses.last.time;
  row.last_event = uses.last.event;
  row.kernels = uses.kernels;
  row.copies = uses.copies;
  row.replays = uses.replays;
  row.first_kernel = uses.first_kernel;
  row.first_arrival = uses.from_host.first;
  row.last_arrival = uses.from_host.last;
  row.arrivals = uses.from_host.count;
  row.pageable_arrivals = uses.from_host.pageable;
  return row;
}

/// Writes `made(kept)`, which is a row or nothing, for each block. Ends chunks early, so that each chunk covers little
/// time.
template <class Row, class Made>
void write_kept(trace::file_writer& to, std::span<const saved_block> kept, Made&& output) {
  std::vector<Row> rows;
  std::uint32_t boundary = 0;
  const auto write = [&] {
    to.add_summary<Row>(rows);
    rows.clear();
  };
  for (const saved_block& each : kept) {
    if (rows.size() >= (each.boundary == boundary ? rows_a_chunk : min_rows)) write();
    boundary = each.boundary;
    if (auto row = output(each)) rows.push_back(*row);
  }
  write();
}

}  // namespace

std::vector<time_ns> collect_begins(std::span<const trace::section_row> sections) {
  std::vector<time_ns> times;
  for (const trace::section_row& section : sections) times.push_back(bounded(section.time));
  return times;
}

trace::block_category_row get_category_row(const saved_block& block) {
  return {block.block.id, static_cast<std::uint8_t>(block.category.kind),
          static_cast<std::uint8_t>(block.category.why)};
}

bool is_kept(saved_block& subject, std::span<const time_ns> begins) {
  const index::block_record& block = subject.block;
  const std::size_t born = find_section(begins, block.born);
  const std::optional<std::uint32_t> keeper = find_keeper(block, begins);
  subject.crosses = keeper.has_value();
  subject.boundary = keeper.value_or(static_cast<std::uint32_t>(born));
  const bool used_elsewhere = subject.uses.first.known() && (find_section(begins, subject.uses.first.time) != born ||
                                                             find_section(begins, subject.uses.last.time) != born);
  return subject.crosses || subject.disputed || used_elsewhere;
}

void section_writer::add_blocks(std::vector<saved_block>& blocks) {
  const auto order = [](const saved_block& b) {
    return std::tuple(-std::countr_zero(b.boundary), b.boundary, b.block.born, b.block.id);
  };
  std::sort(blocks.begin(), blocks.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  // Contradictory rows may be far from the time in which the block is live, so all sections must know the block.
  std::vector<trace::boundary_block_row> disputed;
  for (const saved_block& each : blocks)
    if (each.disputed) disputed.push_back(make_row(each.block, each.category));
  to_.add_summary<trace::boundary_block_row>(disputed, std::pair(INT64_MIN, INT64_MAX));
  write_kept<trace::boundary_block_row>(to_, blocks, [](const saved_block& each) {
    return each.crosses && !each.disputed ? std::optional(make_row(each.block, each.category)) : std::nullopt;
  });
  write_kept<trace::block_uses_row>(to_, blocks, [](const saved_block& each) {
    return each.uses.first.known() ? std::optional(make_row(each.block, each.uses)) : std::nullopt;
  });
}

void section_writer::add_categories(std::size_t section, std::vector<trace::block_category_row>& rows) {
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.block < b.block; });
  to_.add_summary<trace::block_category_row>(rows, std::pair(begins_[section], begins_[section]));
}

void section_writer::add_open_slices(std::size_t section, std::span<const trace::open_slice_row> rows) {
  to_.add_summary<trace::open_slice_row>(rows, std::pair(begins_[section], begins_[section]));
}

void section_writer::add_samples(std::size_t section, std::span<const trace::last_sample_row> rows) {
  to_.add_summary<trace::last_sample_row>(rows, std::pair(begins_[section], begins_[section]));
}

void section_writer::add_first_and_highest(std::span<const trace::last_sample_row> rows) {
  to_.add_summary<trace::last_sample_row>(rows, std::pair(INT64_MIN, INT64_MAX));
}

std::size_t section_writer::add_full_chunks(const index::chunk_index& chunks, std::size_t first) {
  for (; first + reaches_a_chunk <= chunks.known().size(); first += reaches_a_chunk)
    to_.add_summary<trace::chunk_reach_row>(chunks.known().subspan(first, reaches_a_chunk));
  return first;
}

void section_writer::add_chunks(const index::chunk_index& chunks, std::size_t first) {
  for (std::span<const index::chunk_reach> left = chunks.known().subspan(first); !left.empty();) {
    const std::size_t count = std::min(reaches_a_chunk, left.size());
    to_.add_summary<trace::chunk_reach_row>(left.first(count));
    left = left.subspan(count);
  }
}

void section_writer::add_steps(const index::step_facts& steps) {
  std::vector<trace::step_row> rows;
  const auto write = [&] {
    to_.add_summary<trace::step_row>(rows);
    rows.clear();
  };
  for (const auto& [process, list] : steps.lists()) {
    for (const index::step& each : list.steps) {
      rows.push_back({each.span.begin, each.span.end, process, each.number, each.event});
      if (rows.size() == rows_a_chunk) write();
    }
    write();
  }
}

bool section_writer::add_whole(index::recording_facts whole) {
  const auto full = saved(whole, full_sections_version);
  whole.not_tracked.clear();
  whole.segments.clear();
  const auto in_short = saved(whole, sections_version);
  if (!full || !in_short) return false;
  for (const auto& row : {in_short, full}) to_.add_summary<trace::saved_row>(std::span(&*row, 1));
  return true;
}

std::optional<trace::saved_row> section_writer::saved(const index::recording_facts& whole, std::uint32_t version) {
  trace::saved_row row{sections_name, version, {}};
  value_writer words(row.bytes);
  words.put(whole);
  if (words.failed() || row.bytes.size() > max_saved_bytes) return std::nullopt;
  return row;
}

index::known_slice make_slice(const trace::open_slice_row& row) {
  index::known_slice slice;
  slice.kind = row.type;
  slice.owner = row.owner;
  slice.lane = row.lane;
  slice.item.begin = bounded(row.begin);
  slice.item.end = std::max(slice.item.begin, bounded(row.end));
  slice.item.event = row.event;
  slice.item.name = row.name;
  slice.item.bytes = row.bytes;
  slice.item.kind = row.kind;
  slice.item.tag = row.tag;
  return slice;
}

std::vector<trace::open_slice_row> open_slices_at(time_ns time, const index::event_store& store) {
  std::vector<trace::open_slice_row> rows;
  const auto put = [&](trace::lane_kind kind, std::size_t owner, const timeline::slice_set& set) {
    set.for_each_open(time, [&](const timeline::slice_item& item, std::uint16_t lane) {
      rows.push_back({time, kind, static_cast<std::uint32_t>(owner), lane, item.begin, item.end, item.event, item.name,
                      item.bytes, item.kind, item.tag});
    });
  };
  std::size_t owner = 0;
  for (const auto& [key, set] : store.devices().streams()) put(trace::lane_kind::stream, owner++, set);
  owner = 0;
  for (const auto& [key, work] : store.devices().directions()) put(trace::lane_kind::direction, owner++, work.slices);
  owner = 0;
  for (const auto& [key, work] : store.host().threads()) {
    put(trace::lane_kind::host_ranges, owner, work.ranges);
    put(trace::lane_kind::host_calls, owner++, work.calls);
  }
  return rows;
}

}  // namespace sluice::summary
