// sluice doctor: reports what this machine lacks, and how to fix it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/cli/doctor/checks.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"

namespace sluice::cli {

std::vector<check_result> check_machine(const machine& where) {
  std::vector<check_result> results{check_driver(where),      check_capture_library(where), check_cupti(where),
                                    check_permissions(where), check_other_profilers(where), check_python(where),
                                    check_shared_memory(),    check_memory_reading(),       check_sampling(where),
                                    check_disk(where)};
#ifdef SLUICE_HAVE_GUI
  results.push_back(check_drawing(where));
  results.push_back(check_window(where));
#endif
  return results;
}

namespace {

struct doctor_options {
  std::string command = machine{}.command;
  std::string format = "text";
  bool json = false;
};

}  // namespace

action declare_doctor(CLI::App& command) {
  const auto options = std::make_shared<doctor_options>();
  command
      .add_option("PROGRAM", options->command,
                  "Program to be recorded, such as the Python of an environment (default: python3)")
      ->type_name("");
  choose(command.add_option("--format", options->format, "Output format"), "text|json")->capture_default_str();
  command.add_flag("--json", options->json, "The same as --format json");
  command.footer(
      "Prints one line per check: ok, warning (a feature works less well) or missing. Changes nothing.\n"
      "Exit status: 0 if programs can be recorded here, otherwise 1.");
  return [options] {
    machine here;
    here.command = options->command;
    here.is_root = geteuid() == 0;
    const auto results = check_machine(here);
    if (options->json || options->format == "json") {
      print_document(checks_as_json(results));
    } else {
      print(checks_as_text(results));
    }
    return can_record(results) ? 0 : status_failed;
  };
}

}  // namespace sluice::cli
