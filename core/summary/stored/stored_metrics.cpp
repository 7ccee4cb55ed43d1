#include "core/summary/stored/stored_metrics.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/index/event_store.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/stored/stored_metrics_format.hpp"

namespace sluice::summary {

const std::uint32_t stored_metrics_version = metrics::stored_version;

namespace {

/// The maximum number of stored bytes, about the limit of a chunk in the file.
constexpr std::size_t max_bytes = std::size_t{48} << 20;
/// The maximum memory of decoded metrics in bytes, more than any recording needs. This limits the cost of hostile
/// bytes.
constexpr std::size_t max_memory = std::size_t{256} << 20;

/// Checks invariants on which other code relies. The bytes could be decoded, but anyone may have written them.
bool makes_sense(const stored_metrics& subject) {
  const metrics::report_metrics& metrics = subject.metrics;
  const auto as_many = [](std::size_t some, std::size_t total) { return some == 0 || some == total; };
  bool sense = subject.span.begin <= subject.span.end && metrics.whole.range == subject.span;
  sense = sense && metrics.whole.active.begin <= metrics.whole.active.end;
  sense = sense && subject.span.begin <= metrics.whole.active.begin && metrics.whole.active.end <= subject.span.end;
  sense = sense && as_many(metrics.held.size(), metrics.peaks.size());
  sense = sense && as_many(metrics.copied.size(), metrics.whole.transfers.size());
  sense = sense && (metrics.whole.failed_allocations == 0 || !metrics.failures.empty());
  sense = sense && metrics.out_of_memory.size() <= 1;
  sense = sense && subject.blocks.size() == trace::layer_count;
  sense = sense && (metrics.retries.count == 0 || !metrics.retries.first.empty());
  std::set<index::memory_key> measured;
  for (const metrics::memory_statistics& m : metrics.whole.memory) measured.insert({m.device, m.layer, m.kind});
  for (const metrics::memory_peak& peak : metrics.peaks)
    sense = sense && measured.contains({peak.device, peak.layer, peak.kind});
  for (const metrics::unfreed_group& group : metrics.unfreed) sense = sense && !group.largest.empty();
  for (const metrics::rank_metrics& rank : metrics.waste.ranks)
    sense = sense && rank.waiting_rarely >= 0 && rank.waiting_rarely <= rank.waiting && rank.awaited_host >= 0 &&
            rank.awaited_host <= rank.awaited;
  for (const metrics::step_summary& steps : metrics.steps) sense = sense && steps.highest < steps.steps.size();
  for (const index::process_steps& process : subject.steps) sense = sense && process.steps.steps.empty();
  return sense;
}

/// True if the metrics can be those of the recording. In a growing recording, they may cover only the first part.
bool may_be_of(const trace::snapshot& trace, const stored_metrics& metrics) {
  const time_range whole = index::recorded_range(trace);
  return metrics.span == whole ||
         (trace.growing() && metrics.span.begin == whole.begin && metrics.span.end <= whole.end);
}

}  // namespace

result<std::string> encode_stored_metrics(const stored_metrics& subject) {
  std::string bytes;
  value_writer whole(bytes);
  whole.put(subject);
  if (whole.failed())
    return fail(error_code::invalid_argument,
                "the recording has numbers that are out of range, so its metrics cannot be stored");
  if (bytes.size() > max_bytes)
    return fail(error_code::invalid_argument, "the recording has so many stacks that its metrics cannot be stored");
  return bytes;
}

result<stored_metrics> decode_stored_metrics(std::string_view bytes, std::uint32_t version) {
  stored_metrics output;
  value_reader reader(bytes, max_memory, version);
  reader.get(output);
  if (!reader.failed() && reader.at_end() && makes_sense(output)) return output;
  return fail(error_code::corrupt, "the stored summary is corrupt", {}, {}, reader.at());
}

result<trace::saved_row> saved_stored_metrics(const stored_metrics& subject) {
  auto bytes = encode_stored_metrics(subject);
  if (!bytes) return tl::unexpected(bytes.error());
  return trace::saved_row{std::string(stored_metrics_name), stored_metrics_version, std::move(*bytes)};
}

std::shared_ptr<const index::step_facts> get_steps(const stored_metrics& subject,
                                                   std::shared_ptr<const trace::snapshot> recording) {
  std::map<trace::process_id, index::step_source> sources;
  for (const index::process_steps& each : subject.steps) sources.emplace(each.process, each.steps.source);
  return std::make_shared<const index::step_facts>(std::move(recording), std::move(sources));
}

std::shared_ptr<const stored_metrics> find_stored_metrics(const trace::snapshot& trace) {
  std::vector<trace::chunk_info> saved;
  trace.for_each_summary(trace::row_type::saved, [&](const trace::chunk_info& chunk) { saved.push_back(chunk); });
  // Search from the end, because these metrics are written last, and the number of other saved rows grows with the
  // recording.
  std::reverse(saved.begin(), saved.end());
  std::vector<trace::saved_row> rows;
  for (const trace::chunk_info& chunk : saved) {
    if (!trace.read_summary(chunk, rows)) continue;
    for (const trace::saved_row& row : rows) {
      const bool readable = row.version >= oldest_stored_metrics && row.version <= stored_metrics_version;
      if (row.name != stored_metrics_name || !readable) continue;
      auto found = decode_stored_metrics(row.bytes, row.version);
      if (found && may_be_of(trace, *found)) return std::make_shared<const stored_metrics>(std::move(*found));
    }
  }
  return nullptr;
}

std::optional<metrics::compared_metrics> metrics_to_compare(const stored_metrics& subject) {
  metrics::compared_metrics compared_metrics;
  for (const metrics::memory_statistics& metrics : subject.metrics.whole.memory) {
    const index::memory_key key{metrics.device, metrics.layer, metrics.kind};
    const auto kept = std::find_if(subject.memory.begin(), subject.memory.end(),
                                   [&](const memory_stacks& each) { return each.memory.memory == key; });
    if (kept == subject.memory.end() && metrics.allocations > 0) return std::nullopt;
    compared_metrics.memory.push_back({metrics, {}, {}});
    if (kept == subject.memory.end()) continue;
    compared_metrics.memory.back().at_peak = kept->at_peak;
    compared_metrics.memory.back().allocated = kept->allocated;
  }
  for (const metrics::transfer_statistics& metrics : subject.metrics.whole.transfers) {
    compared_metrics.transfers.push_back({metrics, {}});
    for (const copy_stacks& each : subject.copies)
      if (each.device == metrics.device && each.direction == metrics.direction)
        compared_metrics.transfers.back().sites = each.use;
  }
  const auto& devices = subject.metrics.whole.devices;
  const bool any_kernels =
      std::any_of(devices.begin(), devices.end(), [](const auto& device) { return device.kernels > 0; });
  compared_metrics.idle = subject.metrics.waste.idle_times;
  if (any_kernels && compared_metrics.idle.empty()) return std::nullopt;
  return compared_metrics;
}

}  // namespace sluice::summary
