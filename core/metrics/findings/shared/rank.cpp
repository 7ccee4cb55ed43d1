#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

namespace sluice::metrics {
namespace {

using trace::severity;

bool saves_much(const saving& subject) {
  if (subject.basis == saving_basis::none) return false;
  return subject.share >= (subject.time > 0 ? warned_time_share : warned_memory_share);
}

/// True if the finding comes before all others except errors: a warning whose saving is unknown, or memory that grows,
/// which will cost more in the future than it has cost so far.
bool is_unbounded(const finding& subject) {
  return subject.severity == severity::warning &&
         (subject.saves.basis == saving_basis::none || subject.kind == finding_kind::memory_grows);
}

}  // namespace

void join_devices(std::vector<finding>& findings, const trace::tables& tables) {
  std::vector<finding> joined;
  std::map<std::tuple<finding_kind, std::string, std::string>, std::vector<std::size_t>> alike;
  for (finding& each : findings) {
    if (each.devices.empty()) {
      joined.push_back(std::move(each));
      continue;
    }
    const trace::device_id device = each.devices.front();
    std::vector<std::size_t>& before = alike[{each.kind, to_text(each.where), each.advice}];
    const auto same = std::find_if(before.begin(), before.end(), [&](std::size_t i) {
      const auto& reported = joined[i].devices;
      return std::find(reported.begin(), reported.end(), device) == reported.end();
    });
    if (same == before.end()) {
      before.push_back(joined.size());
      joined.push_back(std::move(each));
      continue;
    }
    finding& kept = joined[*same];
    std::vector<trace::device_id> devices = std::move(kept.devices);
    std::vector<saved_part> parts = std::move(kept.parts);
    parts.insert(parts.end(), each.parts.begin(), each.parts.end());
    if (each.saves.share > kept.saves.share) {
      kept = std::move(each);
      devices.insert(devices.begin(), device);
    } else {
      devices.push_back(device);
    }
    kept.devices = std::move(devices);
    kept.parts = std::move(parts);
  }
  for (finding& each : joined) {
    if (each.devices.size() < 2) continue;
    constexpr std::size_t named = 3;
    const std::size_t others = each.devices.size() - 1;
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= std::min(others, named); ++i)
      names.push_back(index::short_label(each.devices[i], tables));
    // Each process may use the same number for another GPU.
    const bool distinct = std::set(names.begin(), names.end()).size() == names.size();
    names.erase(names.begin());
    each.text += others > named || !distinct
                     ? fmt::format(" The same on {} other {}.", others, others == 1 ? "GPU" : "GPUs")
                     : fmt::format(" The same on {}.", fmt::join(names, ", "));
  }
  findings = std::move(joined);
}

void find_overlaps(std::vector<finding>& findings) {
  for (finding& each : findings) std::sort(each.parts.begin(), each.parts.end());
  const auto common = [](const finding& a, const finding& b) {
    std::vector<saved_part> both;
    std::set_intersection(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), std::back_inserter(both));
    return !both.empty();
  };
  const auto saves = [](const finding& each) { return each.saves.basis != saving_basis::none && each.saves.share > 0; };
  for (std::size_t i = 0; i < findings.size(); ++i)
    for (std::size_t j = i + 1; j < findings.size(); ++j) {
      finding &a = findings[i], &b = findings[j];
      if (!saves(a) || !saves(b) || (a.saves.time > 0) != (b.saves.time > 0) || !common(a, b)) continue;
      a.overlaps.push_back(j);
      b.overlaps.push_back(i);
    }
  for (finding& each : findings) std::sort(each.overlaps.begin(), each.overlaps.end());
}

void rank(std::vector<finding>& findings) {
  const auto place = [](const finding& each) {
    return std::tuple(each.severity == severity::error, is_unbounded(each), each.saves.share);
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const finding& a, const finding& b) { return place(a) > place(b); });
  std::size_t warnings = 0;
  for (finding& each : findings) {
    each.major = each.severity == severity::error || is_unbounded(each);
    if (each.major) continue;
    each.severity = severity::info;
    each.major = saves_much(each.saves) && warnings < max_warnings;
    if (!each.major || each.only_note) continue;
    each.severity = severity::warning;
    ++warnings;
  }
}

}  // namespace sluice::metrics
