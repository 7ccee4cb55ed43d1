#include "core/summary/figures/stored_figures.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/index/index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/figures/stored_figures_format.hpp"

namespace sluice::analysis {
namespace {

/// About the limit of a chunk in the file.
constexpr std::size_t most_bytes = std::size_t{48} << 20;
/// More than any recording needs. Bounds the cost of hostile bytes.
constexpr std::size_t most_memory = std::size_t{256} << 20;

/// Checks what other code relies on: the bytes could be decoded, but anyone may have written them.
bool makes_sense(const stored_figures& of) {
  const report_figures& figures = of.figures;
  const auto as_many = [](std::size_t some, std::size_t all) { return some == 0 || some == all; };
  bool sense = of.span.begin <= of.span.end && figures.whole.range == of.span;
  sense = sense && figures.whole.active.begin <= figures.whole.active.end;
  sense = sense && of.span.begin <= figures.whole.active.begin && figures.whole.active.end <= of.span.end;
  sense = sense && as_many(figures.held.size(), figures.peaks.size());
  sense = sense && as_many(figures.copied.size(), figures.whole.transfers.size());
  sense = sense && (figures.whole.failed_allocations == 0 || !figures.failures.empty());
  sense = sense && figures.out_of_memory.size() <= 1;
  sense = sense && of.blocks.size() == trace::layer_count;
  sense = sense && (figures.retries.count == 0 || !figures.retries.first.empty());
  std::set<memory_key> measured;
  for (const memory_statistics& m : figures.whole.memory) measured.insert({m.device, m.layer, m.kind});
  for (const memory_peak& peak : figures.peaks)
    sense = sense && measured.contains({peak.device, peak.layer, peak.kind});
  for (const unfreed_group& group : figures.unfreed) sense = sense && !group.largest.empty();
  for (const rank_figures& rank : figures.waste.ranks)
    sense = sense && rank.waiting_rarely >= 0 && rank.waiting_rarely <= rank.waiting;
  for (const step_summary& steps : figures.steps) sense = sense && steps.highest < steps.steps.size();
  for (const process_steps& process : of.steps) sense = sense && process.steps.steps.empty();
  return sense;
}

/// Those of a recording that grows may be of a part of it, from its begin on.
bool may_be_of(const trace::snapshot& trace, const stored_figures& figures) {
  const time_range whole = time_range_of(trace);
  return figures.span == whole ||
         (trace.growing() && figures.span.begin == whole.begin && figures.span.end <= whole.end);
}

}  // namespace

result<std::string> encode_stored_figures(const stored_figures& of) {
  std::string bytes;
  serialize::writer all(bytes);
  all.put(of);
  if (all.failed())
    return fail(error_code::invalid_argument, "the recording has figures beyond all bounds: they cannot be kept");
  if (bytes.size() > most_bytes)
    return fail(error_code::invalid_argument, "the recording has so many stacks that they cannot be kept in one piece");
  return bytes;
}

result<stored_figures> decode_stored_figures(std::string_view bytes, std::uint32_t version) {
  stored_figures made;
  serialize::reader all(bytes, most_memory, version);
  all.get(made);
  if (!all.failed() && all.at_end() && makes_sense(made)) return made;
  return fail(error_code::corrupt, "the stored summary is corrupt", {}, {}, all.at());
}

result<trace::saved_row> saved_stored_figures(const stored_figures& of) {
  auto bytes = encode_stored_figures(of);
  if (!bytes) return tl::unexpected(bytes.error());
  return trace::saved_row{std::string(stored_figures_name), stored_figures_version, std::move(*bytes)};
}

std::shared_ptr<const step_facts> steps_of(const stored_figures& of, std::shared_ptr<const trace::snapshot> from) {
  std::map<trace::process_id, step_source> sources;
  for (const process_steps& each : of.steps) sources.emplace(each.process, each.steps.source);
  return std::make_shared<const step_facts>(std::move(from), std::move(sources));
}

std::shared_ptr<const stored_figures> find_stored_figures(const trace::snapshot& trace) {
  std::vector<trace::chunk_info> saved;
  trace.for_each_summary(trace::row_type::saved, [&](const trace::chunk_info& chunk) { saved.push_back(chunk); });
  // They are written last. What else is saved grows with the recording.
  std::reverse(saved.begin(), saved.end());
  std::vector<trace::saved_row> rows;
  for (const trace::chunk_info& chunk : saved) {
    if (!trace.read_summary(chunk, rows)) continue;
    for (const trace::saved_row& row : rows) {
      const bool readable = row.version >= oldest_stored_figures && row.version <= stored_figures_version;
      if (row.name != stored_figures_name || !readable) continue;
      auto found = decode_stored_figures(row.bytes, row.version);
      if (found && may_be_of(trace, *found)) return std::make_shared<const stored_figures>(std::move(*found));
    }
  }
  return nullptr;
}

std::optional<compared_figures> figures_to_compare(const stored_figures& of) {
  compared_figures made;
  for (const memory_statistics& figures : of.figures.whole.memory) {
    const memory_key key{figures.device, figures.layer, figures.kind};
    const auto kept = std::find_if(of.memory.begin(), of.memory.end(),
                                   [&](const memory_stacks& each) { return each.memory.of == key; });
    if (kept == of.memory.end() && figures.allocations > 0) return std::nullopt;
    made.memory.push_back({figures, {}, {}});
    if (kept == of.memory.end()) continue;
    made.memory.back().at_peak = kept->at_peak;
    made.memory.back().allocated = kept->allocated;
  }
  for (const transfer_statistics& figures : of.figures.whole.transfers) {
    made.transfers.push_back({figures, {}});
    for (const copy_stacks& each : of.copies)
      if (each.device == figures.device && each.direction == figures.direction) made.transfers.back().sites = each.use;
  }
  return made;
}

}  // namespace sluice::analysis
