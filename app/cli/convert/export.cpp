// sluice export: converts a recording, or a part of it, for other programs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/cli/options/range_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/output/output_file.hpp"
#include "app/cli/page/html_page.hpp"
#include "core/base/format.hpp"
#include "core/export/export.hpp"
#include "core/export/output.hpp"
#include "core/index/event_store.hpp"

namespace sluice::cli {
namespace {

struct export_options {
  std::string file;
  std::string out;
  std::string format;
  std::string range;
  std::vector<std::string> only;
  std::vector<std::string> tables;
  std::string measure;
  std::vector<std::string> sources_from;
  std::string run;
  bool redact = false;
  bool force = false;
};

/// The formats of core/export, and the HTML page that contains the window.
std::vector<const exports::format*> formats() {
  std::vector<const exports::format*> items;
  for (const exports::format& each : exports::formats()) items.push_back(&each);
  items.push_back(&page::html_format());
  return items;
}

std::string names_of_formats(const char* between) {
  std::string text;
  for (const exports::format* each : formats()) text.append(text.empty() ? "" : between).append(each->name);
  return text;
}

/// The format that the user named; otherwise the format that the output's file name implies.
result<const exports::format*> choose_format(const export_options& wanted) {
  if (!wanted.format.empty()) {
    if (const exports::format* named = exports::find_format(wanted.format)) return named;
    if (wanted.format == page::html_format().name) return &page::html_format();
    return fail(error_code::invalid_argument, "no format named '" + wanted.format + "'", "--format",
                "formats are " + names_of_formats(", "));
  }
  if (const exports::format* known = exports::format_of_file(wanted.out)) return known;
  if (wanted.out.ends_with(page::html_format().suffix)) return &page::html_format();
  return fail(error_code::invalid_argument, "'" + wanted.out + "' does not determine the format", "-o",
              "set --format to one of " + names_of_formats(", "));
}

/// Checks the output path of single-file formats. Streams may go to a pipe or device, and folders must be new;
/// `exports::output` checks those.
result<void> check_place(const export_options& wanted, const exports::format& as) {
  exports::options options;
  options.tables = wanted.tables;
  const auto shape = as.shape(options);
  if (exports::output::names_open_file(wanted.out) || exports::is_folder(shape)) return {};
  std::error_code ignored;
  const auto status = std::filesystem::status(wanted.out, ignored);
  const bool pipe_or_device = std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status);
  if (pipe_or_device && shape == exports::output_shape::stream) return {};
  return check_output(wanted.out, get_kind(as), wanted.force, std::span(&wanted.file, 1));
}

result<exports::written_summary> run(const export_options& wanted, const exports::format& as) {
  if (auto known = exports::check_tables(wanted.tables); !known) return tl::unexpected(known.error());
  if (auto free = check_place(wanted, as); !free) return tl::unexpected(free.error());
  // A small cache suffices, because one pass over a recording returns to few chunks.
  constexpr std::size_t cache_bytes = std::size_t{32} << 20;
  const auto opened = open_recording(wanted.file, wanted_of_recording::rows, &wanted.sources_from, cache_bytes);
  if (!opened) return tl::unexpected(opened.error());
  const auto now = (*opened)->latest();
  exports::options options;
  if (!wanted.range.empty()) {
    const auto range = parse_range(wanted.range, index::recorded_range(*now));
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
  options.name = wanted.run.empty() ? std::filesystem::path(wanted.file).stem().string() : wanted.run;
  options.replaces = wanted.force;
  if (wanted.redact) options.redact = exports::redaction::all();
  const long_work shown("exporting " + wanted.file);
  options.progress = shown.progress();
  options.cancelled = &long_work::cancelled();
  return exports::write(*now, as, wanted.out, options);
}

int export_file(const export_options& wanted) {
  const auto as = choose_format(wanted);
  if (!as) {
    complain(as.error().to_string());
    return status_usage;
  }
  const auto done = run(wanted, **as);
  if (!done) return complain_of(done.error());
  for (const std::string& each : done->notes) complain("note: " + each);
  if (wanted.out != "-") remark(wanted.out + ": " + format_some(done->rows, "row") + ", " + format_bytes(done->bytes));
  return 0;
}

}  // namespace

action declare_export(CLI::App& command) {
  auto wanted = std::make_shared<export_options>();
  command.add_option("FILE", wanted->file, "Recording to export")->required()->type_name("");
  command.add_option("-o,--output", wanted->out, "Output file; - is standard output")
      ->required()
      ->check(output_name())
      ->type_name("FILE");
  std::string formats = "Output format (default: from the name of the output):";
  for (const exports::format* each : cli::formats()) formats += fmt::format("\n{}: {}", each->name, each->about);
  command.add_option("--format", wanted->format, formats)->type_name(names_of_formats("|"));
  command.add_option("--range", wanted->range, range_help)->type_name("FROM:TO");
  command
      .add_option("--only", wanted->only,
                  "Only events of this object, such as stream:7, process:1, block:42; can be repeated")
      ->type_name("KIND:ID");
  command.add_option("--table", wanted->tables, "Only this table (csv, sqlite); can be repeated")->type_name("NAME");
  command
      .add_option(
          "--measure", wanted->measure,
          "Metric of folded stacks: live bytes at the peak, allocated bytes, copied bytes, or ns of host threads "
          "(default: peak)")
      ->type_name("peak|allocated|transferred|host");
  command.add_option("--run", wanted->run, "Name of the run in a data set (parquet; default: name of FILE)")
      ->type_name("NAME");
  add_sources_option(command, wanted->sources_from);
  command.add_flag("--redact", wanted->redact, redact_help);
  command.add_flag("--force", wanted->force, force_help);
  return [wanted] { return export_file(*wanted); };
}

}  // namespace sluice::cli
