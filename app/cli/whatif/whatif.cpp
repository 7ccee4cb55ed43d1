// sluice whatif: predicts the memory that PyTorch's allocator reserves under other settings, or with other batch sizes.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/options/number_option.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/whatif/whatif_result.hpp"
#include "core/base/json/json_text.hpp"

namespace sluice::cli {
namespace {

struct whatif_options {
  whatif_wanted wanted;
  std::string format = "text";
};

int print(const whatif_options& wanted) {
  const auto found = result_whatif(wanted.wanted);
  if (!found) return complain_of(found.error());
  const bool as_json = wanted.format == "json";
  const std::string text = as_json ? json_document(whatif_json(*found)) : whatif_text(*found);
  return print_output(text, as_json, "result") ? 0 : status_failed;
}

}  // namespace

action declare_whatif(CLI::App& command) {
  auto wanted = std::make_shared<whatif_options>();
  command
      .add_option("FILE", wanted->wanted.files,
                  "Recording, or a memory snapshot of PyTorch; with --batch, up to two more with other batch sizes. "
                  "FILE@64 states the batch size")
      ->required()
      ->expected(1, 3)
      ->type_name("");
  command
      .add_option("--policy", wanted->wanted.policies,
                  "Setting as in PYTORCH_CUDA_ALLOC_CONF, or native, sluice, \"best fit\", empty_cache:step, "
                  "empty_cache:failure (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("P");
  command.add_option("--device", wanted->wanted.device, "Only the device with this number")
      ->check(whole_between(0, 4096))
      ->type_name("N");
  command
      .add_option("--batch", wanted->wanted.batch, "Predict memory for this factor of the first recording's batch size")
      ->type_name("2x");
  command
      .add_option("--memory", wanted->wanted.memory, "With --batch: memory of the GPU, instead of the recorded value")
      ->transform(bytes_between(1, std::uint64_t{1} << 50, false))
      ->type_name("SIZE");
  choose(command.add_option("--format", wanted->format, "Output format"), "text|json")->capture_default_str();
  return [wanted] { return print(*wanted); };
}

}  // namespace sluice::cli
