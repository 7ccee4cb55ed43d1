// sluice check: checks a recording against limits, for tests and continuous integration.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/check/check_of_recording.hpp"
#include "app/cli/check/check_output.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"

namespace sluice::cli {
namespace {

struct check_options {
  check_wanted wanted;
  std::string format = "text";
};

/// The folders that contain the program's sources: the folder named by GitHub's environment, and the current folder.
std::vector<std::string> source_roots() {
  std::vector<std::string> roots;
  if (const char* workspace = std::getenv("GITHUB_WORKSPACE"); workspace != nullptr && *workspace != '\0')
    roots.emplace_back(workspace);
  std::error_code none;
  roots.push_back(std::filesystem::current_path(none).string());
  return roots;
}

int evaluate_recording(const check_options& options) {
  auto checked = check_recording(options.wanted);
  if (!checked) {
    complain(checked.error().to_string());
    // Status 1 would mean that a condition is not met, so return another status.
    return checked.error().code == error_code::cancelled ? get_status(checked.error()) : status_not_judged;
  }
  checked->roots = source_roots();
  const check_format as = check_format_named(options.format).value_or(check_format::text);
  if (!print_output(check_text(*checked, as), as != check_format::text, "verdicts")) return status_not_judged;
  switch (metrics::overall_verdict(checked->conditions)) {
    case metrics::verdict::met:
      return 0;
    case metrics::verdict::not_met:
      return status_not_met;
    case metrics::verdict::unknown:
      break;
  }
  return status_not_judged;
}

CLI::Validator readable(bool (*accepts)(const std::string&), const char* expected) {
  return CLI::Validator(
      [accepts, expected](std::string& word) {
        return accepts(word) ? std::string() : fmt::format("invalid value '{}'; expected {}", word, expected);
      },
      "");
}

}  // namespace

action declare_check(CLI::App& command) {
  auto options = std::make_shared<check_options>();
  check_wanted& wanted = options->wanted;
  const auto size = readable([](const std::string& word) { return size_named(word).has_value(); },
                             "a size such as 20GiB, 1.5GB or 4096");
  const auto share = readable([](const std::string& word) { return share_named(word).has_value(); },
                              "a share such as 5% or 0.05, up to 100%");
  command.add_option("FILE", wanted.file, "Recording to check")->required()->type_name("");
  command.add_option("--max-peak", wanted.max_peak, "Limit on the peak of device memory, on any device")
      ->check(size)
      ->type_name("SIZE");
  command.add_option("--max-reserved", wanted.max_reserved, "Limit on memory reserved from the driver, on any device")
      ->check(size)
      ->type_name("SIZE");
  command.add_option("--max-growth", wanted.max_growth, "Limit on memory growth per step")
      ->check(size)
      ->type_name("SIZE");
  command.add_flag("--no-leaks", wanted.no_leaks, "Require that no likely leak is found");
  command
      .add_option("--max-pageable", wanted.max_pageable, "Limit on the share of copied bytes that use pageable memory")
      ->check(share)
      ->type_name("SHARE");
  command
      .add_option("--max-idle", wanted.max_idle,
                  "Limit on a device's idle share of the active time (needs record --mode timeline)")
      ->check(share)
      ->type_name("SHARE");
  CLI::Option* const baseline = command.add_option("--baseline", wanted.baseline,
                                                   "Older recording, whose peak, reserved and copied bytes and step "
                                                   "time must not be exceeded");
  baseline->type_name("OLD");
  command.add_option("--tolerance", wanted.tolerance, "Allowed increase over the baseline (default: 3%)")
      ->check(share)
      ->needs(baseline)
      ->type_name("SHARE");
  choose(command.add_option(
             "--fail-on", wanted.fail_on,
             "Require no finding of this severity or above (default if no other condition is set: warning)"),
         "warning|error|note");
  choose(command.add_option("--format", options->format, "Output format"), "text|json|junit|markdown|github")
      ->capture_default_str();
  add_sources_option(command, wanted.sources_from);
  command.footer("Exit status: 0 if all conditions are met, 1 if one is not met, 2 if one could not be checked.");
  return [options] { return evaluate_recording(*options); };
}

}  // namespace sluice::cli
