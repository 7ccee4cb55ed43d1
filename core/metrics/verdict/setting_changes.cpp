#include "core/metrics/verdict/setting_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/report/report.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::metrics {
namespace {

constexpr std::size_t longest_command = 200;  ///< In characters.

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!word.empty()) words.push_back(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return words;
}

std::string join_words(const std::vector<std::string_view>& words, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += (text.empty() ? "" : " ") + std::string(words[i]);
  return text;
}

/// Of two command lines of one program, keeps the words that differ, and the option before them.
setting_change compare_commands(std::string_view before, std::string_view after) {
  setting_change output{"command line", std::string(before), std::string(after), before != after};
  if (before.empty() || after.empty()) output.differs = false;
  if (!output.differs || get_program(before) != get_program(after)) return output;
  auto a = split(before), b = split(after);
  // The same interpreter may be found in another folder.
  for (auto* words : {&a, &b})
    if (!words->empty()) words->front().remove_prefix(words->front().find_last_of('/') + 1);
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t begin = 0;
  while (begin < shorter && a[begin] == b[begin]) ++begin;
  std::size_t same = 0;
  while (same < shorter - begin && a[a.size() - 1 - same] == b[b.size() - 1 - same]) ++same;
  if (begin > 0 && a[begin - 1].starts_with("-")) --begin;
  if (begin + same == a.size() && begin + same == b.size()) return output;
  output.before = join_words(a, begin, a.size() - same);
  output.after = join_words(b, begin, b.size() - same);
  if (output.before.empty()) output.before = "(without)";
  if (output.after.empty()) output.after = "(without)";
  return output;
}

/// Texts that are known of several processes or hosts, each once.
template <class Rows, class Get>
std::string list_once(const Rows& rows, Get&& get) {
  std::set<std::string> texts;
  for (const auto& each : rows)
    if (std::string text(get(each)); !text.empty()) texts.insert(std::move(text));
  std::string list;
  for (const std::string& each : texts) list += (list.empty() ? "" : ", ") + each;
  return list;
}

std::string describe_mode(const named_report& side) {
  return list_once(side.subject.processes, [](const process_metric& each) {
    return each.mode == trace::recording_mode::unknown ? std::string_view() : trace::get_name(each.mode);
  });
}

std::string count_processes(const named_report& side) {
  return side.subject.processes.empty() ? std::string() : format_count(side.subject.processes.size());
}

std::string count_steps(const named_report& side) {
  return side.subject.verdict.steps > 0 ? format_count(side.subject.verdict.steps) : std::string();
}

std::string describe_devices(const named_report& side) {
  std::string text = index::device_names(side.tables, true);
  if (!text.empty() && side.subject.simulated) text += " (simulated)";
  return text;
}

}  // namespace

std::string describe(const setting_change& change) {
  const auto said = [](const std::string& text) {
    return text.empty() ? std::string("not recorded") : shortened(text, longest_command);
  };
  if (change.before.empty() && change.after.empty()) return change.what + ": not recorded";
  if (change.before == change.after) return fmt::format("{}: the same ({})", change.what, said(change.after));
  return fmt::format("{}: {} -> {}", change.what, said(change.before), said(change.after));
}

std::vector<setting_change> list_setting_changes(const named_report& before, const named_report& after) {
  std::vector<setting_change> list;
  list.push_back(compare_commands(get_command(before.subject), get_command(after.subject)));
  const auto add = [&](const char* what, const auto& get) {
    std::string a = get(before), b = get(after);
    const bool differs = !a.empty() && !b.empty() && a != b;
    list.push_back({what, std::move(a), std::move(b), differs});
  };
  add("GPU", describe_devices);
  add("processes", count_processes);
  add("steps", count_steps);
  add("recorded", describe_mode);
  add("host", [](const named_report& side) {
    return list_once(side.tables.hosts.rows(), [&](const auto& each) { return side.tables.text(each.name); });
  });
  add("operating system", [](const named_report& side) {
    return list_once(side.tables.hosts.rows(), [&](const auto& each) { return side.tables.text(each.system); });
  });
  // No recording has these.
  list.push_back({"PYTORCH_CUDA_ALLOC_CONF, driver and framework versions", {}, {}, false});
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.differs > b.differs; });
  return list;
}

}  // namespace sluice::metrics
