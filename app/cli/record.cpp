#include <CLI/CLI.hpp>

#include "app/cli/verbs.hpp"

namespace sluice::cli {

action declare_record(CLI::App& command, std::span<const std::string>) {
  command.prefix_command();
  return [] {
    complain("recording is not built yet");
    return status_not_recorded;
  };
}

}  // namespace sluice::cli
