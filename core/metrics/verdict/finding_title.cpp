#include "core/metrics/verdict/finding_title.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/findings/finding_rules.hpp"

namespace sluice::metrics {
namespace {

/// The problem, without `finding::detail`: the title of the kind, or a more exact one if more is known.
std::string_view name_of_problem(const finding& subject) {
  switch (subject.kind) {
    case finding_kind::failed_allocations:
      // Only of an allocation that failed for lack of memory is it known by how much it was short.
      if (!subject.detail.empty()) return "Out of memory";
      break;
    case finding_kind::unfreed_blocks:
      // Memory that is set up once and held until the end is only a note.
      if (subject.severity == trace::severity::warning) return "Memory leak";
      break;
    case finding_kind::frequent_waits:
    case finding_kind::hidden_waits:
    case finding_kind::idle_gaps:
      if (!subject.detail.empty()) return "GPU waits for the host";
      break;
    default:
      break;
  }
  return finding_rules()[static_cast<std::size_t>(subject.kind)].title;
}

/// Returns `text` as one word of a shell.
std::string quoted_for_shell(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,=";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char each : text) quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return quoted + "'";
}

}  // namespace

std::string get_title(const finding& subject) {
  const std::string_view name = name_of_problem(subject);
  return subject.detail.empty() ? std::string(name) : fmt::format("{}: {}", name, subject.detail);
}

std::string_view get_certainty(const saving& subject) {
  switch (subject.basis) {
    case saving_basis::none:
      break;
    case saving_basis::measured:
      return "measured";
    case saving_basis::swept:
      return "replayed";
    case saving_basis::modelled:
      return subject.bytes_error > 0 ? "replayed" : "estimated";
  }
  return {};
}

std::string describe_saving(const saving& subject) {
  if (subject.basis == saving_basis::none || subject.share <= 0) return {};
  const std::string how = fmt::format("({}, {})", format_share(subject.share), get_certainty(subject));
  if (subject.time > 0)
    return fmt::format("up to {} ({} of the time after start-up, {})", format_time(subject.time),
                       format_share(subject.share), get_certainty(subject));
  if (subject.peak_bytes > 0) return fmt::format("up to {} of the peak {}", format_bytes(subject.peak_bytes), how);
  if (subject.reserved_bytes > 0 && subject.bytes_error > 0)
    return fmt::format("{} to {} of reserved memory {}",
                       format_bytes(subject.reserved_bytes - std::min(subject.bytes_error, subject.reserved_bytes)),
                       format_bytes(subject.reserved_bytes + subject.bytes_error), how);
  if (subject.reserved_bytes > 0)
    return fmt::format("up to {} of reserved memory {}", format_bytes(subject.reserved_bytes), how);
  return {};
}

std::vector<std::string> list_commands(const finding& subject, std::string_view path) {
  const std::string file = quoted_for_shell(path);
  const std::string_view kind = get_word(subject.kind);
  return {fmt::format("sluice report {} --explain {}", file, kind),
          fmt::format("sluice query {} \"SELECT title, place, text, fix_code FROM finding WHERE kind = '{}'\"", file,
                      kind)};
}

std::string describe_overlaps(const finding& subject, const report& of) {
  std::vector<std::string> names;
  for (const std::size_t each : subject.overlaps) {
    if (each >= of.findings.size()) continue;
    const finding& other = of.findings[each];
    const std::string place = to_text(other.where);
    names.push_back(place.empty() ? get_title(other) : fmt::format("{} ({})", get_title(other), place));
  }
  if (names.empty()) return {};
  return fmt::format("Overlaps with: {}. {} savings cannot be added.", fmt::join(names, "; "),
                     names.size() == 1 ? "Both" : "Their");
}

std::string describe_place(const code_place& place) {
  std::string text = to_text(place);
  if (text.empty() || place.caller == place.line) return text;
  code_place caller;
  caller.known = true;
  caller.line = place.caller;
  const std::string called = to_text(caller);
  return called.empty() ? text : text + ", called from " + called;
}

}  // namespace sluice::metrics
