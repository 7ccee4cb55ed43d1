#include "app/cli/whatif/whatif_result.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/output/json_output.hpp"
#include "app/cli/whatif/recorded_requests.hpp"
#include "core/base/format.hpp"
#include "core/base/outputs/text_table.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;

std::uint64_t get_pid(trace::process_id process, const trace::tables& tables) {
  const trace::process_row* row = tables.processes.find(process);
  return row == nullptr ? 0 : row->pid;
}

/// Parses the policies. If `texts` is empty, so is the result, and the recording's default policies apply.
result<std::vector<replay::policy>> list_policies(const std::vector<std::string>& texts) {
  std::vector<replay::policy> policies;
  for (const std::string& text : texts) {
    auto one = replay::parse_policy(text);
    if (!one) return tl::unexpected(one.error());
    policies.push_back(std::move(*one));
  }
  return policies;
}

/// Opens the recordings, and determines their batch sizes.
result<std::vector<batch_source>> batch_sources(const whatif_wanted& wanted) {
  std::vector<batch_source> sources;
  for (const std::string& file : wanted.files) {
    auto opened = open_batch_source(parse_batch_file(file), wanted.device);
    if (!opened) return tl::unexpected(opened.error());
    sources.push_back(std::move(*opened));
  }
  if (const auto found = find_batches(sources); !found) return tl::unexpected(found.error());
  return sources;
}

/// Limitations of the result, as lines of text.
std::vector<std::string> list_notes(const whatif_result& subject) {
  std::vector<std::string> notes;
  const auto note = [&](const replay::allocator_requests& about, const std::string& text) {
    const trace::tables& tables = subject.snapshot->tables();
    notes.push_back(subject.requests.size() == 1 ? text
                                                 : fmt::format("process {}, GPU {}: {}", get_pid(about.process, tables),
                                                               find_ordinal(about.device, tables), text));
  };
  for (std::size_t i = 0; i < subject.requests.size(); ++i) {
    const auto& each = subject.requests[i];
    if (!each.recorded.segments_known) note(each, "no segments were recorded: all blocks are treated as one stream's");
    if (each.recorded.empty_segments > 0)
      note(each,
           fmt::format("{} of {} had no blocks during the recording: their purpose is unknown, and "
                       "the policies' metrics exclude them",
                       format_some(each.recorded.empty_segments, "segment"), format_bytes(each.recorded.empty_bytes)));
    if (each.recorded.mapped) note(each, "recorded under expandable_segments: block sizes are used as requested sizes");
    const auto asks_for = [&](replay::policy::emptying emptying) {
      return std::any_of(subject.results.begin(), subject.results.end(),
                         [&](const replay::policy_result& result) { return result.by.empties == emptying; });
    };
    if (each.step_begins.empty() && asks_for(replay::policy::emptying::each_step))
      note(each, "no steps are known: empty_cache:step has no effect");
    if (each.failures.empty() && asks_for(replay::policy::emptying::failure))
      note(each, "no allocation failed: empty_cache:failure has no effect");
    if (each.limit_inferred)
      note(each, fmt::format("the cache was emptied near a limit of about {}", format_bytes(each.limit)));
    const auto& error = subject.errors[i];
    if (!error || error->exact()) continue;
    note(each, fmt::format("the native model differs from the recording: peak {}{}, segments {:+}, driver calls {:+}",
                           error->peak_reserved < 0 ? "-" : "+",
                           format_bytes(static_cast<double>(std::abs(error->peak_reserved))), error->segments,
                           error->driver_calls));
  }
  return notes;
}

void put(const replay::replay_metrics& metrics, json& into) {
  into["peak_reserved_bytes"] = metrics.peak_reserved;
  into["peak_allocated_bytes"] = metrics.peak_allocated;
  into["segments"] = metrics.segments;
  into["driver_calls"] = metrics.driver_calls;
  into["largest_hole_bytes"] = metrics.largest_hole;
  into["retries"] = metrics.retries;
  into["failures"] = metrics.failures;
  into["reserved_at_failure_bytes"] = count_or_null(metrics.at_failure);
}

json error_json(const std::optional<replay::native_error>& error) {
  if (!error) return nullptr;
  return {{"peak_reserved_bytes", error->peak_reserved},
          {"segments", error->segments},
          {"driver_calls", error->driver_calls}};
}

/// The sum of the errors of all allocators; null if none of them is comparable.
std::optional<replay::native_error> summed(const std::vector<std::optional<replay::native_error>>& errors) {
  std::optional<replay::native_error> sum;
  for (const auto& each : errors) {
    if (!each) continue;
    if (!sum) sum.emplace();
    sum->peak_reserved += each->peak_reserved;
    sum->segments += each->segments;
    sum->driver_calls += each->driver_calls;
  }
  return sum;
}

}  // namespace

result<whatif_result> result_whatif(const whatif_wanted& wanted) {
  const auto policies = list_policies(wanted.policies);
  if (!policies) return tl::unexpected(policies.error());
  if (wanted.batch.empty() && wanted.files.size() > 1)
    return fail(error_code::invalid_argument, "several recordings require --batch", wanted.files[1]);
  if (wanted.batch.empty() && wanted.memory) return fail(error_code::invalid_argument, "requires --batch", "--memory");
  std::optional<double> factor;
  if (!wanted.batch.empty()) {
    const auto read = batch_factor(wanted.batch);
    if (!read) return tl::unexpected(read.error());
    factor = *read;
  }
  whatif_result output;
  if (factor) {
    auto sources = batch_sources(wanted);
    if (!sources) return tl::unexpected(sources.error());
    output.snapshot = sources->front().snapshot;
    output.requests = sources->front().requests;
    output.batch = result_batch(*sources, *factor, wanted.memory);
  } else {
    auto recorded = requests_recorded_in(wanted.files.front(), wanted.device);
    if (!recorded) return tl::unexpected(recorded.error());
    output.snapshot = std::move(recorded->snapshot);
    output.requests = std::move(recorded->requests);
  }
  const auto& replayed = output.batch ? output.batch->requests : output.requests;
  output.results = replay::replay_policies(replayed, policies->empty() ? replay::policies_for(replayed) : *policies);
  if (output.batch) judge_batch(output.results, *output.batch);
  for (const replay::allocator_requests& each : output.requests)
    output.errors.push_back(replay::to_error(each, replay::replay_policy(each, {})));
  return output;
}

json whatif_json(const whatif_result& result) {
  const auto numbers = [&](std::size_t allocator) -> json {
    const replay::allocator_requests& requests = result.requests[allocator];
    const trace::tables& tables = result.snapshot->tables();
    return {{"process", get_pid(requests.process, tables)}, {"device", find_ordinal(requests.device, tables)}};
  };
  json object{{"schema", 1}, {"policies", json::array()}, {"recorded", json::array()}};
  for (std::size_t at = 0; at < result.results.size(); ++at) {
    const replay::policy_result& each = result.results[at];
    json one{{"policy", each.by.text}};
    put(each.sum, one);
    if (result.batch) one["fits"] = value_or_null(result.batch->fits[at]);
    one["devices"] = json::array();
    for (std::size_t i = 0; i < each.metrics.size(); ++i) put(each.metrics[i], one["devices"].emplace_back(numbers(i)));
    object["policies"].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const auto& each = result.requests[i];
    const bool known = each.recorded.segments_known;
    object["recorded"].push_back(numbers(i));
    object["recorded"].back().update({{"allocations", each.blocks},
                                      {"arenas", each.arenas},
                                      {"peak_reserved_bytes", value_or_null(known, each.recorded.peak_reserved)},
                                      {"segments", value_or_null(known, each.recorded.peak_segments)},
                                      {"driver_calls", value_or_null(known, each.recorded.driver_calls)},
                                      {"empty_segments", each.recorded.empty_segments},
                                      {"empty_bytes", each.recorded.empty_bytes},
                                      {"limit_bytes", count_or_null(each.limit)},
                                      {"native_error", error_json(result.errors[i])}});
  }
  object["native_error"] = error_json(summed(result.errors));
  object["notes"] = list_notes(result);
  if (result.batch) object["batch"] = batch_json(*result.batch);
  return object;
}

std::string whatif_text(const whatif_result& result) {
  std::uint64_t recorded = 0;
  for (const auto& each : result.requests) recorded += each.recorded.peak_reserved;
  text_builder text;
  text.line("Recorded: peak {} reserved", format_bytes(recorded));
  text.add("\n");
  if (result.batch) text.add(batch_text(*result.batch, result.results));
  const bool failed = std::any_of(result.requests.begin(), result.requests.end(),
                                  [](const replay::allocator_requests& each) { return !each.failures.empty(); });
  text_table table(failed ? "lrrrrrr" : "lrrrrr");
  table.row({"setting", "reserved", "allocated", "segments", "driver calls", "largest hole", "reserved at failure"});
  for (std::size_t at = 0; at < result.results.size(); ++at) {
    const replay::policy_result& each = result.results[at];
    const bool fails = each.sum.failures > 0 || (result.batch && result.batch->fits[at] == false);
    table.row({each.by.text + (fails ? " (out of memory)" : ""), format_bytes(each.sum.peak_reserved),
               format_bytes(each.sum.peak_allocated), format_count(each.sum.segments),
               format_count(each.sum.driver_calls), format_bytes(each.sum.largest_hole),
               format_bytes(each.sum.at_failure)});
  }
  text.add(table, 2);
  const auto notes = list_notes(result);
  if (!notes.empty()) text.add("\n");
  for (const std::string& note : notes) text.line("Note: {}", note);
  return text.take();
}

}  // namespace sluice::cli
