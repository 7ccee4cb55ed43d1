// sluice trim: writes a part of a recording to a new recording.
#include "core/export/recording/trim.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "app/cli/options/range_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/output/output_file.hpp"
#include "core/base/format.hpp"
#include "core/index/event_store.hpp"

namespace sluice::cli {
namespace {

struct trim_verb {
  std::string file;
  std::string output;
  std::string range;
  bool redact = false;
  bool force = false;
};

result<exports::trimmed> run(const trim_verb& wanted) {
  if (auto allowed = check_output(wanted.output, recording_kind(), wanted.force, std::span(&wanted.file, 1)); !allowed)
    return tl::unexpected(allowed.error());
  const auto opened = open_recording(wanted.file);
  if (!opened) return tl::unexpected(opened.error());
  const auto now = (*opened)->latest();
  exports::trim_options options;
  options.range = index::recorded_range(*now);
  if (!wanted.range.empty()) {
    const auto range = parse_range(wanted.range, options.range);
    if (!range) return tl::unexpected(range.error());
    options.range = *range;
  }
  if (wanted.redact) options.redact = exports::redaction::all();
  const long_work shown("trimming " + wanted.file);
  options.task = shown.task();
  return exports::trim(*now, options, wanted.output);
}

int trim_file(const trim_verb& wanted) {
  const auto output = run(wanted);
  if (!output) return complain_of(output.error());
  say(wanted.output + ": " + format_some(output->events, "event") + ", " + format_some(output->live, "live block") +
      " from earlier, " + format_bytes(output->bytes));
  return 0;
}

}  // namespace

action declare_trim(CLI::App& command) {
  auto wanted = std::make_shared<trim_verb>();
  command.add_option("FILE", wanted->file, "Recording to trim")->required()->type_name("");
  command.add_option("--range", wanted->range, range_help)->type_name("FROM:TO");
  command.add_option("-o", wanted->output, "Recording to write")->required()->check(output_name())->type_name("FILE");
  command.add_flag("--redact", wanted->redact, redact_help);
  command.add_flag("--force", wanted->force, force_help);
  return [wanted] { return trim_file(*wanted); };
}

}  // namespace sluice::cli
