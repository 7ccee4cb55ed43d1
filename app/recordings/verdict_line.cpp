#include "app/recordings/verdict_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "core/metrics/verdict/finding_title.hpp"

namespace sluice::recordings {
namespace {

/// Names come from the recording, so they have a limit.
constexpr std::size_t max_length = 120;

std::string get_unit(const std::string& amount) { return amount.substr(amount.find(' ') + 1); }

/// Text such as "71.0 of 80.0 GiB", or "312 MiB of 140 GiB" if the units differ.
std::string describe_part(std::uint64_t part, std::uint64_t whole) {
  const std::string amount = format_bytes(part), all = format_bytes(whole);
  if (get_unit(amount) != get_unit(all)) return amount + " of " + all;
  return amount.substr(0, amount.find(' ')) + " of " + all;
}

/// Text such as "GPU 91 % busy" or "4 GPUs 12 % to 45 % busy"; empty if no kernel times are known.
std::string describe_busy(const metrics::run_verdict& verdict) {
  if (verdict.devices.empty()) return {};
  const auto [least, most] = std::minmax_element(verdict.devices.begin(), verdict.devices.end(),
                                                 [](const auto& a, const auto& b) { return a.busy < b.busy; });
  if (most->busy <= 0) return {};
  const std::string low = format_share(std::min(1.0, verdict.get_share(least->busy)));
  const std::string high = format_share(std::min(1.0, verdict.get_share(most->busy)));
  const std::string who = verdict.devices.size() == 1 ? "GPU" : format_some(verdict.devices.size(), "GPU");
  return fmt::format("{} {} busy", who, low == high ? low : low + " to " + high);
}

std::string describe_peak(const metrics::run_verdict& verdict) {
  if (verdict.peak == 0) return {};
  return "peak " + (verdict.device_bytes >= verdict.peak ? describe_part(verdict.peak, verdict.device_bytes)
                                                         : format_bytes(verdict.peak));
}

std::string find_error(const metrics::report& subject) {
  if (!subject.out_of_memory.empty()) {
    const std::string& short_by = subject.out_of_memory.front().short_by;
    return short_by.empty() ? "out of memory" : "out of memory, short by " + short_by;
  }
  for (const metrics::finding& each : subject.findings)
    if (each.severity == trace::severity::error) return metrics::get_title(each);
  return {};
}

}  // namespace

verdict_line make_verdict_line(const metrics::report& subject) {
  verdict_line output;
  output.peak = subject.verdict.peak;
  output.text = find_error(subject);
  output.bad = !output.text.empty();
  if (!output.bad) {
    const std::string busy = describe_busy(subject.verdict), peak = describe_peak(subject.verdict);
    output.text = busy + (busy.empty() || peak.empty() ? "" : ", ") + peak;
  }
  if (output.text.empty() && !subject.verdict.missing.empty()) output.text = subject.verdict.missing.front();
  output.text = shortened(printable(output.text), max_length);
  return output;
}

}  // namespace sluice::recordings
