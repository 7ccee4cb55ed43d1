// sluice merge: combines recordings of several processes or machines into one.
#include "core/export/recording/merge.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/output/output_file.hpp"
#include "core/base/format.hpp"

namespace sluice::cli {
namespace {

struct merge_verb {
  std::vector<std::string> files;
  std::string output;
  bool force = false;
};

result<exports::merged> run(const merge_verb& wanted) {
  if (auto allowed = check_output(wanted.output, recording_kind(), wanted.force, wanted.files); !allowed)
    return tl::unexpected(allowed.error());
  std::vector<std::shared_ptr<const trace::snapshot>> parts;
  for (const std::string& file : wanted.files) {
    const auto opened = open_recording(file);
    if (!opened) return tl::unexpected(opened.error());
    parts.push_back((*opened)->latest());
  }
  const long_work shown("merging into " + wanted.output);
  return exports::merge(parts, wanted.output, shown.task());
}

int merge_files(const merge_verb& wanted) {
  const auto output = run(wanted);
  if (!output) return complain_of(output.error());
  for (std::size_t i = 0; i < output->said.size(); ++i) say(wanted.files[i] + ": " + output->said[i]);
  say(wanted.output + ": " + format_some(output->events, "event") + ", " + format_bytes(output->bytes));
  return 0;
}

}  // namespace

action declare_merge(CLI::App& command) {
  auto wanted = std::make_shared<merge_verb>();
  command.add_option("FILE", wanted->files, "Recordings to merge")->required()->type_name("...");
  command.add_option("-o", wanted->output, "Recording to write")->required()->check(output_name())->type_name("FILE");
  command.add_flag("--force", wanted->force, force_help);
  return [wanted] { return merge_files(*wanted); };
}

}  // namespace sluice::cli
