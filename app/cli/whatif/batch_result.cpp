#include "app/cli/whatif/batch_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>

#include "app/cli/number_option.hpp"
#include "app/cli/text_table.hpp"
#include "app/cli/whatif/recorded_requests.hpp"
#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;
using replay::allocator_requests;

constexpr double max_times = 1e6;

std::uint64_t native_peak(const allocator_requests& of) {
  allocator_requests unlimited = of;
  unlimited.limit = 0;
  return replay::replay_policy(unlimited, {}).peak_reserved;
}

/// The requests of the first recording, scaled to the batch size `to` by the law that the other recordings imply.
std::vector<allocator_requests> scaled(const batch_source& first, std::span<const batch_source* const> others,
                                       double to, const replay::batch_law& law, law_kind& by) {
  std::vector<allocator_requests> made;
  by = law.fitted ? law_kind::block : law_kind::assumed;
  for (std::size_t i = 0; i < first.requests.size(); ++i) {
    std::vector<replay::batch_recording> same;
    for (const batch_source* each : others)
      if (i < each->requests.size()) same.push_back({each->batch, &each->requests[i]});
    auto one = same.size() == others.size() ? replay::with_batch_by_block(first.requests[i], first.batch, same, to)
                                            : std::nullopt;
    if (!one && law.fitted) by = law_kind::category;
    made.push_back(one ? std::move(*one)
                       : replay::with_batch(first.requests[i], first.categories[i], law, first.batch, to));
  }
  return made;
}

replay::batch_law law_of(const batch_source& first, std::span<const batch_source* const> others) {
  std::vector<replay::batch_point> points{{first.batch, first.bytes}};
  for (const batch_source* each : others) points.push_back({each->batch, each->bytes});
  return replay::law_of(points);
}

/// Predicts each recording except the first. With three or more recordings, uses a law derived from all but the
/// predicted one; with two, the law derived from both.
std::vector<batch_check> checks_of(const std::vector<batch_source>& all) {
  std::vector<batch_check> made;
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::vector<const batch_source*> others;
    for (std::size_t j = 1; j < all.size(); ++j)
      if (j != i || all.size() == 2) others.push_back(&all[j]);
    batch_check check{all[i].path, all[i].batch, 0, 0};
    law_kind by{};
    for (const allocator_requests& each : all[i].requests) check.recorded += native_peak(each);
    for (const allocator_requests& each : scaled(all[0], others, all[i].batch, law_of(all[0], others), by))
      check.foretold += native_peak(each);
    made.push_back(std::move(check));
  }
  return made;
}

std::string size_text(double batch) { return fmt::format("{:.6g}", batch); }

constexpr std::array words_of_laws{"assumed", "category", "block"};

}  // namespace

batch_file batch_file_of(const std::string& text) {
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

result<batch_source> open_batch_source(const batch_file& of, std::optional<std::int64_t> device) {
  auto recorded = requests_recorded_in(of.path, device);
  if (!recorded) return tl::unexpected(recorded.error());
  batch_source made;
  made.path = of.path;
  made.given = of.batch;
  made.snapshot = std::move(recorded->snapshot);
  made.requests = std::move(recorded->requests);
  const index::growing_index& index = *recorded->index;
  const auto facts = index.tensors(*made.snapshot);
  for (const allocator_requests& each : made.requests) {
    made.categories.push_back(replay::categories_of(each, index.memory(), facts->categories));
    const replay::by_category bytes = replay::highest_bytes(each, made.categories.back());
    for (std::size_t what = 0; what < bytes.size(); ++what) made.bytes[what] += bytes[what];
    for (const replay::request& request : each.requests)
      if (request.what == replay::request_kind::allocate &&
          made.categories.back()[request.block] == index::category::input)
        made.largest_input = std::max(made.largest_input, request.bytes);
  }
  return made;
}

result<void> find_batches(std::vector<batch_source>& all) {
  batch_source& first = all.front();
  first.batch = first.given.value_or(1);
  for (batch_source& each : all) {
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
  const bool same = std::all_of(all.begin(), all.end(), [&](const auto& each) { return each.batch == first.batch; });
  if (all.size() > 1 && same)
    return fail(error_code::invalid_argument, "the recordings have the same batch size", all.back().path,
                "name recordings with different batch sizes, or give the batch size as FILE@N");
  return {};
}

std::optional<double> batch_result::error() const {
  if (checks.empty()) return std::nullopt;
  double most = 0;
  for (const batch_check& each : checks) most = std::max(most, std::abs(each.error()));
  return most;
}

batch_result result_batch(const std::vector<batch_source>& all, double factor, std::optional<std::uint64_t> memory) {
  const batch_source& first = all.front();
  batch_result made;
  made.factor = factor;
  made.from = first.batch;
  made.to = first.batch * factor;
  made.sizes_given = first.given.has_value();
  made.recorded = first.bytes;
  std::vector<const batch_source*> others;
  for (std::size_t i = 1; i < all.size(); ++i) others.push_back(&all[i]);
  made.law = law_of(first, others);
  made.requests = scaled(first, others, made.to, made.law, made.by);
  made.checks = checks_of(all);
  made.left_out = all.size() > 2;
  for (allocator_requests& each : made.requests) {
    made.memory.push_back(memory.value_or(each.limit));
    each.limit = 0;
  }
  return made;
}

void judge_batch(const std::vector<replay::policy_result>& results, batch_result& of) {
  for (const replay::policy_result& each : results) {
    std::optional<bool> fits;
    for (std::size_t i = 0; i < of.requests.size(); ++i) {
      if (of.memory[i] == 0) continue;
      bool one = each.metrics[i].peak_reserved <= of.memory[i];
      if (!one) {
        // The program may still fit, because the allocator returns cached memory before it fails.
        allocator_requests limited = of.requests[i];
        limited.limit = of.memory[i];
        one = replay::replay_policy(limited, each.by).failures == 0;
      }
      fits = fits.value_or(true) && one;
    }
    of.fits.push_back(fits);
  }
}

namespace {

std::int64_t whole(double bytes) { return saturating_cast<std::int64_t>(std::round(bytes)); }

}  // namespace

json batch_json(const batch_result& of) {
  json made{{"factor", of.factor},
            {"from", of.sizes_given ? json(of.from) : json(nullptr)},
            {"to", of.sizes_given ? json(of.to) : json(nullptr)},
            {"law", words_of_laws[static_cast<std::size_t>(of.by)]}};
  made["categories"] = json::array();
  for (std::size_t what = 0; what < of.recorded.size(); ++what) {
    const auto category = static_cast<index::category>(what);
    if (of.recorded[what] <= 0) continue;
    made["categories"].push_back({{"category", index::category_name(category)},
                                  {"recorded_bytes", whole(of.recorded[what])},
                                  {"foretold_bytes", whole(of.law.bytes(category, of.to))},
                                  {"constant_bytes", whole(of.law.constant[what])},
                                  {"bytes_per_batch", of.law.per_batch[what]}});
  }
  made["checks"] = json::array();
  for (const batch_check& each : of.checks)
    made["checks"].push_back({{"file", each.path},
                              {"batch", each.batch},
                              {"recorded_reserved_bytes", each.recorded},
                              {"foretold_reserved_bytes", each.foretold},
                              {"error", each.error()}});
  made["left_out"] = of.left_out;
  made["error"] = of.error() ? json(*of.error()) : json(nullptr);
  std::uint64_t memory = 0;
  for (const std::uint64_t each : of.memory) memory += each;
  made["memory_bytes"] = memory == 0 ? json(nullptr) : json(memory);
  return made;
}

std::string batch_text(const batch_result& of, const std::vector<replay::policy_result>& results) {
  std::string text = fmt::format("Batch size times {}", size_text(of.factor));
  if (of.sizes_given) text += fmt::format(" ({} instead of {})", size_text(of.to), size_text(of.from));
  switch (of.by) {
    case law_kind::assumed:
      text +=
          ". With one recording, weights, gradients and optimizer state are assumed\n"
          "constant, and everything else proportional to the batch size. The error is unknown.\n";
      break;
    case law_kind::category:
      text += fmt::format(", by a fit of each category over {} recordings.\n", of.checks.size() + 1);
      break;
    case law_kind::block:
      text += fmt::format(", by a fit of each block over {} recordings.\n", of.checks.size() + 1);
      break;
  }
  for (const batch_check& each : of.checks)
    text += fmt::format("  {} (batch size {}): {} reserved, {} {} ({}{})\n", each.path, size_text(each.batch),
                        format_bytes(each.recorded), format_bytes(each.foretold),
                        of.left_out ? "predicted without it" : "by the fit", each.error() < 0 ? "-" : "+",
                        format_share(std::abs(each.error())));
  text += "\n";
  text_table table("lrr");
  table.row({"category", "peak live", "predicted"});
  for (std::size_t what = 0; what < of.recorded.size(); ++what) {
    const auto category = static_cast<index::category>(what);
    if (of.recorded[what] <= 0) continue;
    table.row({std::string(index::category_name(category)), format_bytes(of.recorded[what]),
               format_bytes(of.law.bytes(category, of.to))});
  }
  text += table.text(2) + "\n";
  if (results.empty() || of.fits.empty()) return text;
  std::uint64_t memory = 0;
  for (const std::uint64_t each : of.memory) memory += each;
  if (!of.fits.front()) return text + "The GPU's memory size was not recorded: set it with --memory.\n\n";
  const double needed = static_cast<double>(results.front().sum.peak_reserved);
  const double error = of.error().value_or(0);
  const bool close = needed * (1 - error) <= static_cast<double>(memory) &&
                     needed * (1 + error) > static_cast<double>(memory) && error > 0;
  text += fmt::format("{} under {}: {} of {}{}.\n\n", *of.fits.front() ? "It fits" : "It does not fit",
                      results.front().by.text, format_bytes(results.front().sum.peak_reserved), format_bytes(memory),
                      close ? ", but the difference is within the error" : "");
  return text;
}

}  // namespace sluice::cli
