// sluice import: converts another tool's file to a recording.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "app/cli/options/number_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/output/output_file.hpp"
#include "core/base/files/privacy.hpp"

namespace sluice::cli {
namespace {

struct import_options {
  std::string file;
  std::string out;
  std::size_t memory_mib = 0;
  bool force = false;
};

/// The file name without its extensions: "profile" for "profile.json.gz".
std::string get_stem(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem().string();
}

void print(const importing::report& done, const import_options& wanted, const std::string& out) {
  say(fmt::format("{}: {} events, imported from {} ({})", out, done.events, wanted.file,
                  importing::get_name(done.from)));
  for (const importing::count& each : done.read) say(fmt::format("  {:12}  {}", each.number, each.label));
  for (const std::string& each : done.messages) say("note: " + each);
  if (done.not_understood.empty()) return;
  say("skipped or changed:");
  for (const importing::count& each : done.not_understood) {
    const std::string first =
        each.offset == error::no_offset ? std::string() : fmt::format(", the first at byte {}", each.offset);
    say(fmt::format("  {:12}  {}{}", each.number, each.label, first));
  }
}

int import(const import_options& wanted) {
  const std::string out = wanted.out.empty() ? free_name(get_stem(wanted.file)) : wanted.out;
  if (auto possible = check_output(out, recording_kind(), wanted.force, std::span(&wanted.file, 1)); !possible) {
    complain(possible.error().to_string());
    return status_usage;
  }
  privacy::keep_as_private_as(wanted.file);
  result<importing::report> done;
  {
    const long_work shown("importing " + wanted.file);
    importing::options with = shown.importing();
    if (wanted.memory_mib != 0) with.memory_bytes = wanted.memory_mib << 20;
    done = importing::import_file(wanted.file, out, with);
  }
  if (!done) return complain_of(done.error());
  print(*done, wanted, out);
  return 0;
}

}  // namespace

action declare_import(CLI::App& command) {
  auto wanted = std::make_shared<import_options>();
  command.add_option("FILE", wanted->file, "File written by another tool; its type is detected")
      ->required()
      ->type_name("");
  command.add_option("-o,--output", wanted->out, "Recording to write (default: FILE's name with .sluice)")
      ->check(output_name())
      ->type_name("FILE");
  command.add_option("--memory", wanted->memory_mib, "Memory limit of the import, in MiB")
      ->check(whole_between(16, 1 << 20))
      ->type_name("MIB");
  command.add_flag("--force", wanted->force, force_help);
  return [wanted] { return import(*wanted); };
}

}  // namespace sluice::cli
