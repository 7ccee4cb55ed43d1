#include "core/replay/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace sluice::replay {
namespace {

constexpr std::string_view known_settings =
    "native, sluice, best fit, empty_cache, or PyTorch's expandable_segments, max_split_size_mb, "
    "max_non_split_rounding_mb, "
    "roundup_power2_divisions, garbage_collection_threshold, per_process_memory_fraction, backend";

/// PyTorch settings that do not affect reserved device memory.
const std::set<std::string_view> without_effect{"release_lock_on_cudamalloc",     "pinned_use_cuda_host_register",
                                                "pinned_num_register_threads",    "pinned_use_background_threads",
                                                "pinned_reserve_segment_size_mb", "graph_capture_record_stream_reuse"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits `text` at commas that are not in brackets.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '[') ++depth;
    if (at < text.size() && text[at] == ']') --depth;
    if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
    parts.push_back(trimmed(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  return parts;
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> share(std::string_view text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> divisions_in(std::string_view text) {
  const auto value = whole(text);
  return value && (*value == 0 || std::has_single_bit(*value)) ? value : std::nullopt;
}

/// Reads "4", or "[256:1,512:2,>:4]", whose sizes are in MiB.
bool read_divisions(std::string_view text, policy& into) {
  if (!text.starts_with('[')) {
    const auto full = divisions_in(text);
    if (!full || *full == 0) return false;
    into.divisions.fill(*full);
    return true;
  }
  if (!text.ends_with(']')) return false;
  std::size_t last = 0;
  bool first = true;
  for (const std::string_view part : split(text.substr(1, text.size() - 2))) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string_view source = trimmed(part.substr(0, colon));
    const auto count = divisions_in(trimmed(part.substr(colon + 1)));
    if (!count) return false;
    if (source == ">") {
      std::fill(into.divisions.begin() + static_cast<std::ptrdiff_t>(last), into.divisions.end(), *count);
      continue;
    }
    const auto size = whole(source);
    if (!size || !std::has_single_bit(*size)) return false;
    last = std::min<std::size_t>(static_cast<std::size_t>(std::countr_zero(*size)), into.divisions.size() - 1);
    if (first) std::fill(into.divisions.begin(), into.divisions.begin() + static_cast<std::ptrdiff_t>(last), *count);
    into.divisions[last] = *count;
    first = false;
  }
  return true;
}

bool read_mib(std::string_view text, std::uint64_t& into) {
  const auto value = whole(text);
  if (!value || *value < large_segment / mib) return false;
  into = std::min(*value, no_limit / mib) * mib;
  return true;
}

/// Returns a description of the expected form if `value` is not valid for the setting; empty if it is valid.
std::string_view read_setting(std::string_view name, std::string_view value, policy& into) {
  if (name == "expandable_segments") {
    into.expandable = value == "True";
    return value == "True" || value == "False" ? "" : "True or False";
  }
  if (name == "max_split_size_mb") return read_mib(value, into.max_split) ? "" : "a whole number from 20 on";
  if (name == "max_non_split_rounding_mb")
    return read_mib(value, into.non_split_rounding) ? "" : "a whole number from 20 on";
  if (name == "roundup_power2_divisions")
    return read_divisions(value, into) ? "" : "a power of two, or a list like [256:1,512:2,>:4]";
  if (name == "garbage_collection_threshold") {
    into.collect_above = share(value).value_or(0);
    return into.collect_above > 0 && into.collect_above < 1 ? "" : "a number between 0 and 1";
  }
  if (name == "per_process_memory_fraction") {
    into.memory_fraction = share(value).value_or(0);
    return into.memory_fraction > 0 && into.memory_fraction <= 1 ? "" : "a number above 0 and up to 1";
  }
  if (name == "empty_cache") {
    into.empties = value == "step" ? policy::emptying::each_step : policy::emptying::failure;
    return value == "step" || value == "failure" ? "" : "step or failure";
  }
  if (value != "native" && value != "cudaMallocAsync") return "native or cudaMallocAsync";
  into.by = value == "native" ? policy::model::caching : policy::model::async;
  return "";
}

bool is_setting(std::string_view name) {
  static const std::set<std::string_view> texts{"expandable_segments",
                                                "max_split_size_mb",
                                                "max_non_split_rounding_mb",
                                                "roundup_power2_divisions",
                                                "garbage_collection_threshold",
                                                "per_process_memory_fraction",
                                                "empty_cache",
                                                "backend"};
  return texts.contains(name);
}

}  // namespace

result<policy> parse_policy(std::string_view text) {
  policy output;
  output.text = text;
  const std::string_view word = trimmed(text);
  if (word == "native") return output;
  if (word == "sluice" || word == "best fit") {
    output.by = word == "sluice" ? policy::model::sluice : policy::model::best_fit;
    return output;
  }
  for (const std::string_view part : split(word)) {
    const std::size_t colon = part.find(':');
    const std::string_view name = trimmed(part.substr(0, colon));
    const bool harmless = without_effect.contains(name);
    if (!harmless && !is_setting(name))
      return fail(error_code::invalid_argument, fmt::format("no allocator setting is called \"{}\"", name),
                  fmt::format("--policy \"{}\"", text), fmt::format("known settings: {}", known_settings));
    const std::string_view value = colon == std::string_view::npos ? "" : trimmed(part.substr(colon + 1));
    const std::string_view expected = harmless ? "" : read_setting(name, value, output);
    if (!expected.empty())
      return fail(error_code::invalid_argument, fmt::format("{} needs {}, not \"{}\"", name, expected, value),
                  fmt::format("--policy \"{}\"", text), "write it as in PYTORCH_CUDA_ALLOC_CONF");
  }
  return output;
}

std::vector<policy> default_policies() {
  std::vector<policy> policies;
  for (const char* text : {"native", "expandable_segments:True", "max_split_size_mb:128", "max_split_size_mb:64",
                           "roundup_power2_divisions:4", "garbage_collection_threshold:0.6", "backend:cudaMallocAsync",
                           "sluice", "best fit"})
    policies.push_back(*parse_policy(text));
  return policies;
}

}  // namespace sluice::replay
