// sluice report: prints the statistics and findings of a recording.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/metrics/metrics_of_recording.hpp"
#include "app/cli/options/range_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/report/report_output.hpp"
#include "core/metrics/findings/finding_rules.hpp"

namespace sluice::cli {
namespace {

struct report_options {
  std::string file;
  std::string format = "text";
  std::string range;
  std::string by;
  std::optional<std::int64_t> rank;
  std::string explain;
  std::vector<std::string> sources_from;
};

/// Prints the rule, and the findings of its kind in `file` unless that is empty.
int print_rule(const metrics::finding_rule& rule, const report_options& options) {
  std::string text = metrics::to_text(rule) + "\n";
  if (!options.file.empty()) {
    auto opened = metrics_of_recording::open(options.file, &options.sources_from);
    if (!opened) return complain_of(opened.error());
    const auto found = opened->report({}, symbols::attribution_named(options.by));
    if (!found) return complain_of(found.error());
    text += "\nIn this recording\n" + findings_text({*found, opened->tables(), options.file}, rule.kind);
  }
  return cli::print(text) ? 0 : status_failed;
}

int print_rules(const report_options& options) {
  if (options.explain.empty()) {
    for (const metrics::finding_rule& each : metrics::finding_rules()) cli::print(metrics::to_text(each) + "\n\n");
    return 0;
  }
  if (const metrics::finding_rule* rule = metrics::rule_named(options.explain); rule != nullptr)
    return print_rule(*rule, options);
  complain("--explain: no kind of finding named '" + options.explain + "'; `sluice report --explain` lists them all");
  return status_usage;
}

std::string no_rank(const metrics::report& whole_report, std::int64_t asked) {
  const auto& ranks = whole_report.waste.ranks;
  const std::string has = ranks.empty()
                              ? "fewer than two"
                              : fmt::format("{}, from {} to {}", ranks.size(), ranks.front().rank, ranks.back().rank);
  return fmt::format("--rank: no rank {} in the recording; ranks in it: {}", asked, has);
}

int print(const report_options& options) {
  if (options.file.empty()) {
    complain("no recording given; expected: sluice report FILE");
    return status_usage;
  }
  auto opened = metrics_of_recording::open(options.file, &options.sources_from);
  if (!opened) return complain_of(opened.error());
  std::optional<time_range> range;
  if (!options.range.empty()) {
    const auto parsed = parse_range(options.range, index::recorded_range(opened->snapshot()));
    if (!parsed) return complain_of(parsed.error());
    range = *parsed;
  }
  auto found = opened->report(range, symbols::attribution_named(options.by));
  if (!found) return complain_of(found.error());
  metrics::report& whole_report = *found;
  const bool as_json = options.format == "json";
  std::optional<metrics::one_rank> only;
  if (const auto rank = options.rank || as_json ? options.rank : metrics::rank_to_show(whole_report)) {
    only = metrics::keep_rank(whole_report, opened->tables(), *rank);
    if (!only) {
      complain(no_rank(whole_report, *rank));
      return status_usage;
    }
  }
  const report_subject subject{whole_report, opened->tables(), options.file, std::move(only)};
  return print_output(as_json ? report_json(subject) : report_text(subject), as_json, "report") ? 0 : status_failed;
}

}  // namespace

action declare_report(CLI::App& command) {
  auto options = std::make_shared<report_options>();
  command.add_option("FILE", options->file, "Recording to report on")->type_name("");
  CLI::Option* const explain =
      command
          .add_option(
              "--explain", options->explain,
              "Print the meaning, detection, limitations and fixes of a kind of finding, and what FILE has of it; "
              "without KIND and FILE, of all kinds")
          ->type_name("KIND")
          ->expected(0, 1);
  choose(command.add_option("--format", options->format, "Output format"), "text|json")->capture_default_str();
  choose(command.add_option(
             "--by", options->by,
             "Group the memory at the peak by: your code line, the caller of that line's function, "
             "the module (Class.forward), the package, or the library that called the driver; default: the one "
             "that splits the main peak most evenly"),
         "line|caller|module|package|owner");
  command
      .add_option(
          "--rank", options->rank,
          "Limit tables about devices and processes to this rank (default: all ranks; in a text report on more than "
          "four ranks, only the rank that needs the most memory)")
      ->type_name("N");
  command.add_option("--range", options->range, range_help)->type_name("FROM:TO");
  add_sources_option(command, options->sources_from);
  return [options, explain] { return explain->count() > 0 ? print_rules(*options) : print(*options); };
}

}  // namespace sluice::cli
