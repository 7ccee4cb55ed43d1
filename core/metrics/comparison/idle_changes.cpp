#include "core/metrics/comparison/idle_changes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "core/base/format.hpp"
#include "core/base/signed_text.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/metrics/comparison/line_moves.hpp"
#include "core/metrics/host_causes/describe.hpp"

namespace sluice::metrics {
namespace {

/// One cause of one side.
struct found_cause {
  idle_cause_change cause;  ///< Only the time of its own side is set.
  std::string function;     ///< The text of the function of the line; empty if the line is unknown.
  bool is_after = false;
};

/// True if all of the host's part is known by reason.
bool has_reasons(const device_idle& idle) {
  return !idle.host.empty() || std::none_of(idle.causes.begin(), idle.causes.end(),
                                            [](const cause_time& each) { return each.cause == gap_cause::host; });
}

void add_causes(const named_idle& side, bool with_reasons, bool is_after, std::vector<found_cause>& to) {
  const auto add = [&](time_ns total) -> found_cause& {
    found_cause& added = to.emplace_back();
    added.is_after = is_after;
    (is_after ? added.cause.after : added.cause.before) = total;
    return added;
  };
  for (const cause_time& each : side.idle.causes)
    if (!with_reasons || each.cause != gap_cause::host) add(each.total).cause.cause = each.cause;
  if (!with_reasons) return;
  for (const host_cause_group& each : side.idle.host) {
    found_cause& added = add(each.total);
    added.cause.cause = gap_cause::host;
    added.cause.reason = each.cause.reason;
    added.cause.library = each.cause.library;
    if (auto line = find_line(each.cause, side.tables)) {
      added.function = text_to_match(*line);
      added.cause.line = *std::move(line);
    }
  }
}

}  // namespace

std::vector<idle_cause_change> compare_idle(const named_idle& before, const named_idle& after) {
  const bool with_reasons = has_reasons(before.idle) && has_reasons(after.idle);
  std::vector<found_cause> found;
  add_causes(before, with_reasons, false, found);
  add_causes(after, with_reasons, true, found);
  line_moves moves;
  for (const found_cause& each : found) moves.add(each.function, each.cause.line.line, each.is_after);
  moves.find();
  using key = std::tuple<gap_cause, std::optional<host_reason>, std::string, std::string, std::uint64_t>;
  std::map<key, std::size_t> places;
  std::vector<idle_cause_change> changes;
  for (found_cause& each : found) {
    const std::uint64_t line = each.is_after ? each.cause.line.line : moves.moved(each.function, each.cause.line.line);
    const auto [at, fresh] = places.try_emplace(
        {each.cause.cause, each.cause.reason, each.cause.library, std::move(each.function), line}, changes.size());
    if (fresh) {
      changes.push_back(std::move(each.cause));
      continue;
    }
    idle_cause_change& change = changes[at->second];
    change.before += each.cause.before;
    change.after += each.cause.after;
    if (each.is_after) change.line = std::move(each.cause.line);
  }
  std::stable_sort(changes.begin(), changes.end(), [](const idle_cause_change& a, const idle_cause_change& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  return changes;
}

const idle_cause_change* find_main_change(const std::vector<idle_cause_change>& changes) {
  time_ns sum = 0;
  for (const idle_cause_change& each : changes) sum += each.change();
  const auto found = std::find_if(changes.begin(), changes.end(), [=](const idle_cause_change& each) {
    return each.change() != 0 && (sum == 0 || (each.change() < 0) == (sum < 0));
  });
  return found == changes.end() ? nullptr : &*found;
}

std::string_view describe_trend(const idle_cause_change& change) {
  if (change.before == change.after) return "same";
  if (change.before == 0) return "new";
  if (change.after == 0) return "went away";
  return change.change() < 0 ? "shrank" : "grew";
}

std::string describe_cause(const idle_cause_change& change) {
  if (!change.reason) return std::string(get_words(change.cause));
  return "the host " + describe_reason({*change.reason, change.library, 0});
}

std::string describe_cause_and_line(const idle_cause_change& change) {
  const std::string line = describe_line(change.line);
  return describe_cause(change) + (line.empty() ? "" : ", at " + line);
}

std::string format_time_change(time_ns before, time_ns after) {
  if (before == after) return "same";
  return with_sign(static_cast<double>(after - before), format_time(std::abs(after - before)));
}

}  // namespace sluice::metrics
