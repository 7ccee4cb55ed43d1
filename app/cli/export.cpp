// sluice export: a recording, or a part of it, for other programs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/range_option.hpp"
#include "app/cli/recording_file.hpp"
#include "app/cli/verbs.hpp"
#include "core/analysis/index.hpp"
#include "core/export/export.hpp"
#include "core/format.hpp"

namespace sluice::cli {
namespace {

constexpr int status_interrupted = 130;  // As shells have it: 128 + SIGINT.

struct wish {
  std::string file;
  std::string out;
  std::string format;
  std::string range;
  std::vector<std::string> only;
  std::vector<std::string> tables;
  std::string measure;
  std::vector<std::string> sources_from;
  bool redact = false;
  bool force = false;
};

std::string names_of_formats(const char* between) {
  std::string all;
  for (const exports::format& each : exports::formats()) all.append(all.empty() ? "" : between).append(each.name);
  return all;
}

/// The format that was named, or that the output's name tells.
result<const exports::format*> choose_format(const wish& wanted) {
  if (!wanted.format.empty()) {
    if (const exports::format* named = exports::find_format(wanted.format)) return named;
    return fail(error_code::invalid_argument, "there is no format '" + wanted.format + "'", "--format",
                "formats are " + names_of_formats(", "));
  }
  if (const exports::format* told = exports::format_of_file(wanted.out)) return told;
  return fail(error_code::invalid_argument, "'" + wanted.out + "' does not tell the format", "-o",
              "say --format with one of " + names_of_formats(", "));
}

/// What is there and is no earlier export by the look of it must not be lost by a slip.
result<void> check_place(const wish& wanted) {
  std::error_code ignored;
  if (wanted.out == "-" || wanted.force || !std::filesystem::exists(wanted.out, ignored)) return {};
  if (std::filesystem::is_empty(wanted.out, ignored) || !std::filesystem::is_regular_file(wanted.out, ignored))
    return {};
  return fail(error_code::invalid_argument, "exists", wanted.out, "choose another name, or replace it with --force");
}

/// A line that is written over, where a person watches.
class progress_line {
 public:
  void show(float share) {
    const int percent = static_cast<int>(share * 100);
    if (percent == last_ || isatty(STDERR_FILENO) == 0) return;
    last_ = percent;
    std::fprintf(stderr, "\rexporting %d %%", percent);
    std::fflush(stderr);
  }
  ~progress_line() {
    if (last_ >= 0) std::fputs("\r\033[K", stderr);
  }

 private:
  int last_ = -1;
};

/// While it lives, Ctrl-C and SIGTERM end the export and not the program, so that nothing half written is left.
class interruptible {
 public:
  interruptible() {
    stopped_ = false;
    for (auto& [signal, before] : before_) before = std::signal(signal, [](int) { stopped_ = true; });
  }
  ~interruptible() {
    for (const auto& [signal, before] : before_) std::signal(signal, before);
  }
  interruptible(const interruptible&) = delete;
  interruptible& operator=(const interruptible&) = delete;
  [[nodiscard]] static const std::atomic<bool>& stopped() { return stopped_; }

 private:
  static inline std::atomic<bool> stopped_{false};
  std::array<std::pair<int, void (*)(int)>, 2> before_ = {{{SIGINT, nullptr}, {SIGTERM, nullptr}}};
};

result<exports::outcome> run(const wish& wanted, const exports::format& as) {
  if (auto free = check_place(wanted); !free) return tl::unexpected(free.error());
  const auto opened = open_recording(wanted.file, wanted_of_recording::rows, &wanted.sources_from);
  if (!opened) return tl::unexpected(opened.error());
  const auto now = (*opened)->latest();
  exports::options options;
  if (!wanted.range.empty()) {
    const auto range = parse_range(wanted.range, analysis::whole_of(*now));
    if (!range) return tl::unexpected(range.error());
    options.range = *range;
  }
  for (const std::string& each : wanted.only) {
    const auto one = exports::parse_subject(each);
    if (!one) return tl::unexpected(one.error());
    options.only.push_back(*one);
  }
  options.tables = wanted.tables;
  options.measure = wanted.measure;
  if (wanted.redact) options.redact = exports::redaction::all();
  progress_line line;
  options.progress = [&](float share) { line.show(share); };
  const interruptible by_user;
  options.cancelled = &interruptible::stopped();
  return exports::write(*now, as, wanted.out, options);
}

int export_file(const wish& wanted) {
  const auto as = choose_format(wanted);
  if (!as) {
    complain(as.error().to_string());
    return status_usage;
  }
  const auto done = run(wanted, **as);
  if (!done) {
    complain(done.error().to_string());
    if (done.error().code == error_code::cancelled) return status_interrupted;
    return done.error().code == error_code::invalid_argument ? status_usage : status_failed;
  }
  for (const std::string& each : done->notes) std::fprintf(stderr, "sluice: note: %s\n", each.c_str());
  if (wanted.out != "-")
    std::fprintf(stderr, "%s: %s, %s\n", wanted.out.c_str(), format_some(done->rows, "row").c_str(),
                 format_bytes(done->bytes).c_str());
  return 0;
}

}  // namespace

action declare_export(CLI::App& command) {
  auto wanted = std::make_shared<wish>();
  command.add_option("FILE", wanted->file, "The recording to export")->required()->type_name("");
  command.add_option("-o,--output", wanted->out, "What to write; - is the standard output")
      ->required()
      ->type_name("FILE");
  std::string formats = "What to write; told by the name of the output if not said:";
  for (const exports::format& each : exports::formats()) formats += fmt::format("\n{}: {}", each.name, each.about);
  command.add_option("--format", wanted->format, formats)->type_name(names_of_formats("|"));
  command.add_option("--range", wanted->range, range_help)->type_name("FROM:TO");
  command
      .add_option("--only", wanted->only, "Only events about this, as stream:7, process:1, block:42; may be repeated")
      ->type_name("KIND:ID");
  command.add_option("--table", wanted->tables, "Only this table (csv, sqlite); may be repeated")->type_name("NAME");
  command
      .add_option("--measure", wanted->measure,
                  "What stacks are weighed by (folded): bytes held at the peak, allocated or copied; peak if not said")
      ->type_name("peak|allocated|transferred");
  add_sources_option(command, wanted->sources_from);
  command.add_flag("--redact", wanted->redact,
                   "Leave out directories, arguments, environment values, host names and lines of source");
  command.add_flag("--force", wanted->force, "Replace a file that is there");
  return [wanted] { return export_file(*wanted); };
}

}  // namespace sluice::cli
