// sluice generate: writes a synthetic recording of any size, for tests and measurements.
#include "core/generate/generate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "app/cli/options/number_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/output/output_file.hpp"
#include "core/base/files/privacy.hpp"
#include "core/base/format.hpp"
#include "core/generate/tile.hpp"

namespace sluice::cli {
namespace {

struct generate_verb {
  generate::generate_options options;
  std::string recording;
  std::string output;
  std::string pattern = "training";
  std::string mode = "timeline";
  std::string stacks = "python";
  bool force = false;
};

result<generate::generated> make(const generate_verb& options, const generate::generate_options& generate_options) {
  const long_work shown("generating " + options.output);
  return options.recording.empty()
             ? generate::generate(generate_options, options.output, shown.task())
             : generate::tile(options.recording, generate_options.events, options.output, shown.task());
}

int write_trace(const generate_verb& options) {
  const auto allowed = check_output(options.output, recording_kind(), options.force, std::span(&options.recording, 1));
  if (!allowed) {
    complain(allowed.error().to_string());
    return status_usage;
  }
  privacy::keep_as_private_as(options.recording);
  generate::generate_options generate_options = options.options;
  generate_options.pattern =
      options.pattern == "training" ? generate::program_pattern::training : generate::program_pattern::inference;
  generate_options.timeline = options.mode == "timeline";
  generate_options.stacks = options.stacks == "none"     ? generate::stack_choice::none
                            : options.stacks == "python" ? generate::stack_choice::python
                                                         : generate::stack_choice::all;
  const auto output = make(options, generate_options);
  if (!output) return complain_of(output.error());
  say(fmt::format("{}: {} events, {} bytes, {:.2f} bytes per event", options.output, output->events, output->bytes,
                  static_cast<double>(output->bytes) / static_cast<double>(output->events)));
  return 0;
}

}  // namespace

action declare_generate(CLI::App& command) {
  auto options = std::make_shared<generate_verb>();
  command.add_option("--events", options->options.events, "Minimum number of events")
      ->check(whole_between(1, 10'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", options->options.seed, "The same seed generates the same file")
      ->check(whole_between(0, UINT64_MAX))
      ->type_name("S")
      ->capture_default_str();
  choose(command.add_option("--pattern", options->pattern, "Kind of program: training steps or inference requests"),
         "training|inference")
      ->capture_default_str();
  choose(command.add_option("--mode", options->mode, "Generate the events that record --mode would record"),
         "memory|timeline")
      ->capture_default_str();
  choose(command.add_option("--stacks", options->stacks, "Generate the call stacks that record --stacks would record"),
         "none|python|all")
      ->capture_default_str();
  command.add_flag("--host-samples", options->options.host_samples,
                   "Also generate samples of host threads, which say why the GPU was idle");
  command
      .add_option("--rank", options->options.first_rank,
                  "Rank of the first process, as if the other ranks of the job were recorded elsewhere")
      ->check(whole_between(0, 1'000'000))
      ->type_name("N");
  command.add_option("--processes", options->options.processes, "Number of ranks, each with its own GPU")
      ->check(whole_between(1, 64))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--slow-rank", options->options.slow_rank,
                  "Rank whose kernels take four times as long, so that the others wait for it (use the same "
                  "--seed for all ranks)")
      ->check(whole_between(0, 1'000'000))
      ->type_name("N");
  command
      .add_option("--kept-blocks", options->options.kept_blocks, "Small blocks to allocate first and keep to the end")
      ->check(whole_between(0, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--kept-stacks", options->options.kept_stacks,
                  "Number of call stacks that allocate these small blocks")
      ->check(whole_between(1, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--tile", options->recording, "Repeat this recording instead of generating one")
      ->type_name("RECORDING");
  command.add_option("-o", options->output, "File to write")->required()->check(output_name())->type_name("FILE");
  command.add_flag("--force", options->force, force_help);
  return [options] { return write_trace(*options); };
}

}  // namespace sluice::cli
