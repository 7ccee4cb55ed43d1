// sluice whatif: predicts the memory that PyTorch's allocator reserves under other settings, or with other batch sizes.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/number_option.hpp"
#include "app/cli/verbs.hpp"
#include "app/cli/whatif/whatif_result.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;

struct whatif_options {
  whatif_wanted wanted;
  std::string format = "text";
};

int print(const whatif_options& wanted) {
  const auto found = result_whatif(wanted.wanted);
  if (!found) {
    complain(found.error().to_string());
    return get_status(found.error());
  }
  const bool as_json = wanted.format == "json";
  const std::string text =
      as_json ? whatif_json(*found).dump(2, ' ', false, json::error_handler_t::replace) + "\n" : whatif_text(*found);
  if (!(as_json ? print_document(text) : cli::print(text)) || std::fflush(stdout) != 0) {
    complain("cannot write the result: the output was closed or is full");
    return status_failed;
  }
  return 0;
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
  command.add_option("--format", wanted->format, "Output format")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json")
      ->capture_default_str();
  return [wanted] { return print(*wanted); };
}

}  // namespace sluice::cli
