#include "core/analysis/digest.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/analysis/digest_fields.hpp"
#include "core/analysis/index.hpp"
#include "core/analysis/tensors.hpp"

namespace sluice::analysis {
namespace {

const std::atomic<bool> wanted{false};  // Nobody withdraws it.

/// A chunk of a file holds little more.
constexpr std::size_t most_bytes = std::size_t{48} << 20;
/// More than any recording needs; bounds what hostile bytes can cost.
constexpr std::size_t most_memory = std::size_t{256} << 20;

std::vector<memory_stacks> stacks_of_memory(const memory_use& memory, time_range whole) {
  std::vector<memory_stacks> all;
  for (const memory_standing& standing : list_memories(memory, whole)) {
    const block_filter filter = standing.filter();
    all.push_back({standing, live_stacks(memory, filter, peak_time(memory, filter, whole, wanted), wanted),
                   allocating_stacks(memory, filter, whole, wanted)});
  }
  return all;
}

std::vector<copy_stacks> stacks_of_copies(const index& from, time_range whole) {
  std::set<std::pair<trace::device_id, trace::direction>> ways;
  for (const copy_record& copy : from.copies().copies()) ways.emplace(copy.device, copy.direction);
  std::vector<copy_stacks> all;
  for (const auto& [device, way] : ways)
    all.push_back({device, way, copying_stacks(from, {device, way}, whole, wanted)});
  return all;
}

void list_blocks(const index& from, const tensor_facts& facts, digest& into) {
  const auto before = [](const listed_block& a, const listed_block& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.block < b.block;
  };
  const auto cut = [&] {
    if (into.largest.size() <= digest::block_limit) return;
    const auto end = into.largest.begin() + static_cast<std::ptrdiff_t>(digest::block_limit);
    std::nth_element(into.largest.begin(), end, into.largest.end(), before);
    into.largest.erase(end, into.largest.end());
  };
  const std::span<const block_record> blocks = from.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const block_record& block = blocks[i];
    if (!block.allocated || !block.live_in(into.span)) continue;
    ++into.block_count;
    into.block_bytes += block.bytes;
    into.largest.push_back({block.id, block.alloc, block.device, block.stream, block.pool, block.name, block.born,
                            block.died, block.address, block.bytes, block.level, block.kind,
                            i < facts.categories.size() ? facts.categories[i] : block_category{}});
    if (into.largest.size() >= 8 * digest::block_limit) cut();
  }
  cut();
  std::sort(into.largest.begin(), into.largest.end(), before);
}

/// Whether what is relied on holds: the bytes were read, but may have been written by anybody.
bool makes_sense(const digest& of) {
  const summary_figures& figures = of.figures;
  const auto as_many = [](std::size_t some, std::size_t all) { return some == 0 || some == all; };
  bool sense = of.span.begin <= of.span.end && figures.whole.range == of.span;
  sense = sense && as_many(figures.held.size(), figures.peaks.size());
  sense = sense && as_many(figures.copied.size(), figures.whole.transfers.size());
  sense = sense && (figures.whole.failed_allocations == 0 || !figures.failures.empty());
  std::set<memory_key> measured;
  for (const memory_statistics& m : figures.whole.memory) measured.insert({m.device, m.level, m.kind});
  for (const memory_peak& peak : figures.peaks)
    sense = sense && measured.contains({peak.device, peak.level, peak.kind});
  for (const unfreed_group& group : figures.unfreed) sense = sense && !group.largest.empty();
  for (const step_summary& steps : figures.steps) sense = sense && steps.highest < steps.steps.size();
  for (const process_steps& process : of.steps) {
    const std::vector<step>& steps = process.steps.steps;
    sense = sense && !steps.empty();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      sense = sense && steps[i].span.begin <= steps[i].span.end;
      sense = sense && (i == 0 || steps[i - 1].span.end <= steps[i].span.begin);
    }
  }
  return sense;
}

}  // namespace

digest make_digest(const index& from, const trace::snapshot& trace) {
  digest made;
  made.span = whole_of(trace);
  made.figures = figures_of(from, trace);
  made.memory = stacks_of_memory(from.memory(), made.span);
  made.copies = stacks_of_copies(from, made.span);
  made.all_copies = copying_stacks(from, {}, made.span, wanted);
  const auto facts = from.tensors(trace);
  for (const auto& [process, steps] : facts->steps->lists) made.steps.push_back({process, steps});
  for (const trace::loss_event& row : from.memory().losses()) {
    made.losses.push_back({bounded(row.time), row.end == trace::unknown_time ? row.end : bounded(row.end), row.events,
                           row.memory_events});
  }
  list_blocks(from, *facts, made);
  return made;
}

result<std::string> encode_digest(const digest& of) {
  std::string bytes;
  archive::writer all(bytes);
  all.put(of);
  if (all.failed())
    return fail(error_code::invalid_argument, "the recording has figures beyond all bounds: they cannot be kept");
  if (bytes.size() > most_bytes)
    return fail(error_code::invalid_argument, "the recording has so many stacks that they cannot be kept in one piece");
  return bytes;
}

result<digest> decode_digest(std::string_view bytes) {
  digest made;
  archive::reader all(bytes, most_memory);
  all.get(made);
  if (!all.failed() && all.at_end() && makes_sense(made)) return made;
  return fail(error_code::corrupt, "the kept figures of the recording make no sense", {}, {}, all.at());
}

result<trace::saved_row> saved_digest(const digest& of) {
  auto bytes = encode_digest(of);
  if (!bytes) return tl::unexpected(bytes.error());
  return trace::saved_row{std::string(digest_name), digest_version, std::move(*bytes)};
}

std::shared_ptr<const digest> find_digest(const trace::snapshot& trace) {
  std::vector<trace::saved_row> rows;
  for (const trace::chunk_info& chunk : trace.summaries()) {
    if (chunk.type != trace::row_type::saved || !trace.read_summary(chunk, rows)) continue;
    for (const trace::saved_row& row : rows) {
      if (row.name != digest_name || row.version != digest_version) continue;
      auto found = decode_digest(row.bytes);
      if (found && found->span == whole_of(trace)) return std::make_shared<const digest>(std::move(*found));
    }
  }
  return nullptr;
}

}  // namespace sluice::analysis
