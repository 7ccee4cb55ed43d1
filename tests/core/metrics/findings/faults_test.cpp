// Findings for programs with planted faults, for the same programs without them, and for clean ones. The programs are
// in tests/device/faults; run-faults recorded them on a GPU and measured what each fix saves. `score`, in that folder,
// prints the same for recordings that hold symbols, with the lines of C++. Set SLUICE_SHOW_FAULTS to print the table.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "core/metrics/findings/finding_rules.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics::faults {
namespace {

using json = nlohmann::json;
using testing::indexed;

const std::filesystem::path tests = std::filesystem::path(SLUICE_SOURCE_DIR) / "tests";

json read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

struct program {
  std::string name, file, saves;
  bool python = false;
  std::vector<std::string> kinds;
  std::vector<std::uint64_t> lines;  ///< The correct lines of `file`.
};

std::vector<std::uint64_t> marked_lines(const std::string& file, const std::string& name) {
  std::ifstream source(tests / "device/faults" / file);
  const std::regex mark("(#|//) fault( \\w+)* " + name + "\\b");
  std::vector<std::uint64_t> lines;
  std::string text;
  for (std::uint64_t line = 1; std::getline(source, text); ++line)
    if (std::regex_search(text, mark)) lines.push_back(line);
  return lines;
}

std::vector<program> programs() {
  std::vector<program> items;
  for (const json& each : read(tests / "device/faults/truth.json")) {
    program one;
    one.name = each["name"];
    one.file = each["file"];
    one.python = one.file.ends_with(".py");
    one.kinds = each["kinds"].get<std::vector<std::string>>();
    one.saves = each["saves"].is_string() ? each["saves"].get<std::string>() : "";
    one.lines = marked_lines(one.file, one.name);
    items.push_back(std::move(one));
  }
  return items;
}

/// The warnings about a recording; empty if there are none.
std::optional<std::vector<finding>> find_warnings(const std::string& name, const char* variant) {
  const auto path = tests / "data/faults" / (name + "-" + variant + ".sluice");
  if (!std::filesystem::exists(path)) return std::nullopt;
  const indexed subject(trace::file::open(path.string()).value());
  std::vector<finding> found = make_report(subject.index, *subject.snapshot).findings;
  std::erase_if(found, [](const finding& each) { return each.severity != trace::severity::warning; });
  return found;
}

bool is_at(const symbols::frame_line& line, const program& subject) {
  return line.file.ends_with(subject.file) &&
         std::any_of(subject.lines.begin(), subject.lines.end(), [&](std::uint64_t right) {
           return line.line + 1 >= right && line.line <= right + 1;  // A call may continue on the next line.
         });
}

struct score {
  std::size_t faults = 0, found = 0, with_lines = 0, right_line = 0, judged = 0, close = 0;
  std::size_t without_fault = 0, alarms = 0, clean = 0, clean_alarms = 0;
};

class scorer {
 public:
  scorer() {
    for (const json& each : read(tests / "data/faults/measured.json"))
      measured_[{each["program"], each["variant"]}] = each;
  }

  void judge(const program& subject) {
    if (!subject.kinds.empty() && is_worth_a_warning(subject))
      if (const auto found = find_warnings(subject.name, "faulty")) judge_fault(subject, *found);
    if (const auto found = find_warnings(subject.name, "fixed")) {
      ++all.without_fault;
      all.alarms += !found->empty();
      all.clean += subject.kinds.empty();
      all.clean_alarms += subject.kinds.empty() && !found->empty();
      if (show_ && !found->empty()) std::printf("alarm %s: %s\n", subject.name.c_str(), words(*found).c_str());
    }
  }

  score all;

 private:
  static std::string words(const std::vector<finding>& found) {
    std::string text;
    for (const finding& each : found)
      text += std::string(get_word(each.kind)) + "@" + std::to_string(each.where.line.line) + " ";
    return text;
  }

  /// The measured cost of a program with the fault, and what the fix saves: ms, or bytes.
  std::optional<std::pair<double, double>> format_measured(const program& subject) {
    const json& faulty = measured_[{subject.name, "faulty"}];
    const json& fixed = measured_[{subject.name, "fixed"}];
    const char* member = subject.saves == "time" ? "ms" : subject.saves == "reserved" ? "reserved_bytes" : "peak_bytes";
    if (!faulty.contains(member) || !fixed.contains(member)) return std::nullopt;
    const double was = faulty[member].get<double>();
    return std::pair(was, was - fixed[member].get<double>());
  }

  /// No warning is expected for a fault whose fix saves less than 2 % of the time, or 3 % of the bytes.
  bool is_worth_a_warning(const program& subject) {
    const auto real = format_measured(subject);
    return !real || real->second >= (subject.saves == "time" ? 0.02 : 0.03) * real->first;
  }

  /// The ratio of the reported saving to the measured saving; nothing if the saving was not measured.
  std::optional<double> to_error(const program& subject, const finding& reported) {
    const auto real = format_measured(subject);
    if (!real || real->second == 0) return std::nullopt;
    const double said = subject.saves == "time"       ? static_cast<double>(reported.saves.time) / 1e6
                        : subject.saves == "reserved" ? static_cast<double>(reported.saves.reserved_bytes)
                                                      : static_cast<double>(reported.saves.peak_bytes);
    return said / real->second - 1;
  }

  void judge_fault(const program& subject, const std::vector<finding>& found) {
    ++all.faults;
    const finding* hit = nullptr;
    bool right = false;
    for (const finding& each : found) {
      if (std::find(subject.kinds.begin(), subject.kinds.end(), get_word(each.kind)) == subject.kinds.end()) continue;
      const bool here = is_at(each.where.line, subject) || is_at(each.where.caller, subject);
      if (hit == nullptr || (here && !right)) hit = &each;
      right = right || here;
    }
    if (show_)
      std::printf("%s %s: %s\n",
                  hit == nullptr ? "missed"
                  : right        ? "found "
                                 : "kind  ",
                  subject.name.c_str(), words(found).c_str());
    if (hit == nullptr) return;
    ++all.found;
    all.with_lines += subject.python;
    all.right_line += subject.python && right;
    if (const auto error = to_error(subject, *hit)) {
      ++all.judged;
      all.close += std::abs(*error) <= 0.1;
    }
  }

  const bool show_ = std::getenv("SLUICE_SHOW_FAULTS") != nullptr;
  std::map<std::pair<std::string, std::string>, json> measured_;
};

/// The numbers of this test are also in tests/device/faults/README.md. They may only improve.
TEST(planted_faults, are_found_and_other_programs_are_left_alone) {
  scorer judge;
  for (const program& each : programs()) judge.judge(each);
  const score& whole = judge.all;
  std::printf(
      "%zu of %zu faults found; line right in %zu of %zu (Python); savings within 10 %%: %zu of %zu; alarms about %zu "
      "of %zu "
      "programs without the fault, %zu of %zu of them clean\n",
      whole.found, whole.faults, whole.right_line, whole.with_lines, whole.close, whole.judged, whole.alarms,
      whole.without_fault, whole.clean_alarms, whole.clean);
  EXPECT_EQ(whole.faults, 69U);
  EXPECT_EQ(whole.clean, 14U);
  EXPECT_GE(whole.found, 58U);
  EXPECT_GE(whole.right_line, 33U);
  EXPECT_GE(whole.close, 29U);
  EXPECT_LE(whole.alarms, 10U);
  EXPECT_EQ(whole.clean_alarms, 0U);
}

}  // namespace
}  // namespace sluice::metrics::faults
