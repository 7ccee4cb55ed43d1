// The command line: one verb a file, dispatched from here.
#include <CLI/CLI.hpp>

#include "core/version.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Sluice: a profiler for GPU memory and transfers", "sluice"};
  app.set_version_flag("--version", sluice::version());
  CLI11_PARSE(app, argc, argv);
  return 0;
}
