#include "app/cli/whatif/batch_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>
#include <system_error>

#include "app/cli/options/number_option.hpp"
#include "app/cli/output/json_output.hpp"
#include "app/cli/whatif/recorded_requests.hpp"
#include "core/base/format.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/base/saturating.hpp"
#include "core/base/signed_text.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;
using replay::allocator_requests;

constexpr double max_times = 1e6;

std::uint64_t native_peak(const allocator_requests& requests) {
  allocator_requests unlimited = requests;
  unlimited.limit = 0;
  return replay::replay_policy(unlimited, {}).peak_reserved;
}

/// The requests of the first recording, scaled to the batch size `to` by the law that the other recordings imply.
std::vector<allocator_requests> scaled(const batch_source& first, std::span<const batch_source* const> others,
                                       double to, const replay::batch_law& law, law_kind& by) {
  std::vector<allocator_requests> items;
  by = law.fitted ? law_kind::block : law_kind::assumed;
  for (std::size_t i = 0; i < first.requests.size(); ++i) {
    std::vector<replay::batch_recording> same;
    for (const batch_source* each : others)
      if (i < each->requests.size()) same.push_back({each->batch, &each->requests[i]});
    auto one = same.size() == others.size() ? replay::with_batch_by_block(first.requests[i], first.batch, same, to)
                                            : std::nullopt;
    if (!one && law.fitted) by = law_kind::category;
    items.push_back(one ? std::move(*one)
                        : replay::with_batch(first.requests[i], first.categories[i], law, first.batch, to));
  }
  return items;
}

replay::batch_law fit_law(const batch_source& first, std::span<const batch_source* const> others) {
  std::vector<replay::batch_point> points{{first.batch, first.bytes}};
  for (const batch_source* each : others) points.push_back({each->batch, each->bytes});
  return replay::fit_law(points);
}

/// Predicts each recording except the first. With three or more recordings, uses a law derived from all but the
/// predicted one; with two, the law derived from both.
std::vector<batch_check> list_checks(const std::vector<batch_source>& sources) {
  std::vector<batch_check> checks;
  for (std::size_t i = 1; i < sources.size(); ++i) {
    std::vector<const batch_source*> others;
    for (std::size_t j = 1; j < sources.size(); ++j)
      if (j != i || sources.size() == 2) others.push_back(&sources[j]);
    batch_check check{sources[i].path, sources[i].batch, 0, 0};
    law_kind by{};
    for (const allocator_requests& each : sources[i].requests) check.recorded += native_peak(each);
    for (const allocator_requests& each : scaled(sources[0], others, sources[i].batch, fit_law(sources[0], others), by))
      check.foretold += native_peak(each);
    checks.push_back(std::move(check));
  }
  return checks;
}

std::string size_text(double batch) { return fmt::format("{:.6g}", batch); }

constexpr std::array words_of_laws{"assumed", "category", "block"};

}  // namespace

batch_file parse_batch_file(const std::string& text) {
  const std::size_t at = text.rfind('@');
  std::error_code ignored;
  if (at == std::string::npos || std::filesystem::exists(text, ignored)) return {text, {}};
  const auto batch = parse_number(std::string_view(text).substr(at + 1));
  if (!batch || *batch <= 0) return {text, {}};
  return {text.substr(0, at), batch};
}

result<double> batch_factor(const std::string& text) {
  std::string_view number = text;
  if (number.ends_with('x')) number.remove_suffix(1);
  const auto factor = parse_number(number);
  if (factor && *factor > 1 / max_times && *factor < max_times) return *factor;
  return fail(error_code::invalid_argument, fmt::format("invalid batch scale '{}'; expected a factor such as 2x", text),
              "--batch");
}

result<batch_source> open_batch_source(const batch_file& file, std::optional<std::int64_t> device) {
  auto recorded = requests_recorded_in(file.path, device);
  if (!recorded) return tl::unexpected(recorded.error());
  batch_source source;
  source.path = file.path;
  source.given = file.batch;
  source.snapshot = std::move(recorded->snapshot);
  source.requests = std::move(recorded->requests);
  for (const allocator_requests& each : source.requests) {
    source.categories.push_back(recorded->categories.of(each));
    const replay::by_category bytes = replay::highest_bytes(each, source.categories.back());
    for (std::size_t value = 0; value < bytes.size(); ++value) source.bytes[value] += bytes[value];
    for (const replay::request& request : each.requests)
      if (request.kind == replay::request_kind::allocate &&
          source.categories.back()[request.block] == index::category::input)
        source.largest_input = std::max(source.largest_input, request.bytes);
  }
  return source;
}

result<void> find_batches(std::vector<batch_source>& sources) {
  batch_source& first = sources.front();
  first.batch = first.given.value_or(1);
  for (batch_source& each : sources) {
    if (&each == &first) continue;
    if (first.given && each.given) {
      each.batch = *each.given;
      continue;
    }
    if (each.given || first.largest_input == 0 || each.largest_input == 0)
      return fail(error_code::invalid_argument,
                  each.given ? "the batch size of the first recording is unknown"
                             : "cannot compare the batch sizes of the recordings: no input blocks are known",
                  each.path, "name each recording as FILE@N, where N is the batch size");
    each.batch = first.batch * static_cast<double>(each.largest_input) / static_cast<double>(first.largest_input);
  }
  const bool same =
      std::all_of(sources.begin(), sources.end(), [&](const auto& each) { return each.batch == first.batch; });
  if (sources.size() > 1 && same)
    return fail(error_code::invalid_argument, "the recordings have the same batch size", sources.back().path,
                "name recordings with different batch sizes, or give the batch size as FILE@N");
  return {};
}

std::optional<double> batch_result::error() const {
  if (checks.empty()) return std::nullopt;
  double most = 0;
  for (const batch_check& each : checks) most = std::max(most, std::abs(each.error()));
  return most;
}

batch_result result_batch(const std::vector<batch_source>& sources, double factor,
                          std::optional<std::uint64_t> memory) {
  const batch_source& first = sources.front();
  batch_result result;
  result.factor = factor;
  result.from = first.batch;
  result.to = first.batch * factor;
  result.sizes_given = first.given.has_value();
  result.recorded = first.bytes;
  std::vector<const batch_source*> others;
  for (std::size_t i = 1; i < sources.size(); ++i) others.push_back(&sources[i]);
  result.law = fit_law(first, others);
  result.requests = scaled(first, others, result.to, result.law, result.by);
  result.checks = list_checks(sources);
  result.left_out = sources.size() > 2;
  for (allocator_requests& each : result.requests) {
    result.memory.push_back(memory.value_or(each.limit));
    each.limit = 0;
  }
  return result;
}

void judge_batch(const std::vector<replay::policy_result>& results, batch_result& result) {
  for (const replay::policy_result& each : results) {
    std::optional<bool> fits;
    for (std::size_t i = 0; i < result.requests.size(); ++i) {
      if (result.memory[i] == 0) continue;
      bool one = each.metrics[i].peak_reserved <= result.memory[i];
      if (!one) {
        // The program may still fit, because the allocator returns cached memory before it fails.
        allocator_requests limited = result.requests[i];
        limited.limit = result.memory[i];
        one = replay::replay_policy(limited, each.by).failures == 0;
      }
      fits = fits.value_or(true) && one;
    }
    result.fits.push_back(fits);
  }
}

namespace {

std::uint64_t sum_memory(const batch_result& result) {
  return std::accumulate(result.memory.begin(), result.memory.end(), std::uint64_t{0});
}

std::int64_t whole(double bytes) { return saturating_cast<std::int64_t>(std::round(bytes)); }

}  // namespace

json batch_json(const batch_result& result) {
  json object{{"factor", result.factor},
              {"from", value_or_null(result.sizes_given, result.from)},
              {"to", value_or_null(result.sizes_given, result.to)},
              {"law", words_of_laws[static_cast<std::size_t>(result.by)]}};
  object["categories"] = json::array();
  for (std::size_t value = 0; value < result.recorded.size(); ++value) {
    const auto category = static_cast<index::category>(value);
    if (result.recorded[value] <= 0) continue;
    object["categories"].push_back({{"category", index::category_name(category)},
                                    {"recorded_bytes", whole(result.recorded[value])},
                                    {"foretold_bytes", whole(result.law.bytes(category, result.to))},
                                    {"constant_bytes", whole(result.law.constant[value])},
                                    {"bytes_per_batch", result.law.per_batch[value]}});
  }
  object["checks"] = list_json(result.checks, [](const batch_check& each) -> json {
    return {{"file", each.path},
            {"batch", each.batch},
            {"recorded_reserved_bytes", each.recorded},
            {"foretold_reserved_bytes", each.foretold},
            {"error", each.error()}};
  });
  object["left_out"] = result.left_out;
  object["error"] = value_or_null(result.error());
  object["memory_bytes"] = count_or_null(sum_memory(result));
  return object;
}

std::string batch_text(const batch_result& result, const std::vector<replay::policy_result>& results) {
  std::string text = fmt::format("Batch size times {}", size_text(result.factor));
  if (result.sizes_given) text += fmt::format(" ({} instead of {})", size_text(result.to), size_text(result.from));
  switch (result.by) {
    case law_kind::assumed:
      text +=
          ". With one recording, weights, gradients and optimizer state are assumed\n"
          "constant, and everything else proportional to the batch size. The error is unknown.\n";
      break;
    case law_kind::category:
      text += fmt::format(", by a fit of each category over {} recordings.\n", result.checks.size() + 1);
      break;
    case law_kind::block:
      text += fmt::format(", by a fit of each block over {} recordings.\n", result.checks.size() + 1);
      break;
  }
  for (const batch_check& each : result.checks)
    text += fmt::format("  {} (batch size {}): {} reserved, {} {} ({})\n", each.path, size_text(each.batch),
                        format_bytes(each.recorded), format_bytes(each.foretold),
                        result.left_out ? "predicted without it" : "by the fit",
                        with_sign(each.error(), format_share(std::abs(each.error()))));
  text += "\n";
  text_table table("lrr");
  table.row({"category", "peak live", "predicted"});
  for (std::size_t value = 0; value < result.recorded.size(); ++value) {
    const auto category = static_cast<index::category>(value);
    if (result.recorded[value] <= 0) continue;
    table.row({std::string(index::category_name(category)), format_bytes(result.recorded[value]),
               format_bytes(result.law.bytes(category, result.to))});
  }
  text += table.text(2) + "\n";
  if (results.empty() || result.fits.empty()) return text;
  const std::uint64_t memory = sum_memory(result);
  if (!result.fits.front()) return text + "The GPU's memory size was not recorded: set it with --memory.\n\n";
  const double needed = static_cast<double>(results.front().sum.peak_reserved);
  const double error = result.error().value_or(0);
  const bool close = needed * (1 - error) <= static_cast<double>(memory) &&
                     needed * (1 + error) > static_cast<double>(memory) && error > 0;
  text += fmt::format("{} under {}: {} of {}{}.\n\n", *result.fits.front() ? "It fits" : "It does not fit",
                      results.front().by.text, format_bytes(results.front().sum.peak_reserved), format_bytes(memory),
                      close ? ", but the difference is within the error" : "");
  return text;
}

}  // namespace sluice::cli
