// The command line: dispatches to the verbs, each of which has its own file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/options/verbs.hpp"
#include "app/cli/output/standard_files.hpp"
#include "core/base/files/unfinished.hpp"
#include "core/base/freed_memory.hpp"
#include "core/base/version.hpp"

namespace sluice::cli {

namespace {

struct verb {
  const char* name;
  const char* about;
  std::function<action(CLI::App&)> declare;
  bool hidden = false;  ///< The verb is not listed in `sluice --help`.
};

struct command_line {
  std::vector<std::string> arguments;                    ///< Without the program's name.
  std::optional<std::vector<std::string>> after_dashes;  ///< The command that `record` runs.
};

bool names_verb(const std::vector<verb>& verbs, const std::string& word) {
  return std::any_of(verbs.begin(), verbs.end(), [&](const verb& v) { return word == v.name; });
}

/// Splits the command line. For `record`, the words after the first "--" are stored separately, because all of them
/// belong to the command to run.
command_line split(int argc, char** argv) {
  command_line line;
  line.arguments.assign(argv + std::min(argc, 1), argv + argc);
  auto& words = line.arguments;
  if (!words.empty() && words.front() == "record") {
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (dashes != words.end()) {
      line.after_dashes.emplace(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
  }
  return line;
}

/// True for `sluice FILE`, even if the file does not exist, and for `sluice --demo NAME`.
bool is_for_window(const std::string& word) {
  if (word.substr(0, 1) == "-") return word == "--demo" || word.rfind("--demo=", 0) == 0 || word == "--device";
  std::error_code none;
  return word.find('/') != std::string::npos || word.find('.') != std::string::npos ||
         std::filesystem::exists(word, none);
}

/// True for options that `sluice` accepts without a verb.
bool is_own_option(const std::string& word) { return word == "-h" || word == "--help" || word == "--version"; }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int run(int argc, char** argv) {
  command_line line = split(argc, argv);
  const std::vector<std::string> none;
  const std::vector<std::string>& after_dashes = line.after_dashes ? *line.after_dashes : none;

  // One line per verb, in the order of `sluice --help`.
  const std::vector<verb> verbs = {
      {"record", "Record a program's use of GPU memory",
       [&](CLI::App& command) { return declare_record(command, after_dashes); }},
      {"attach", "Explain why a running program cannot be recorded", declare_attach},
      {"doctor", "Report what this machine lacks for recording, and how to fix it", declare_doctor},
      {"report", "Print the metrics and findings of a recording", declare_report},
      {"import", "Convert another tool's recording to a trace", declare_import},
      {"query", "Query a recording in SQL", declare_query},
      {"export", "Convert a recording, or a part of it, for other programs", declare_export},
      {"trim", "Extract a part of a recording as a new recording", declare_trim},
      {"merge", "Merge recordings of several processes or machines, on one clock", declare_merge},
      {"check", "Check a recording against limits, for tests and continuous integration", declare_check},
      {"diff", "Compare two recordings, or two ranges of one", declare_diff},
      {"mcp", "Give an AI assistant access to recordings (Model Context Protocol)", declare_mcp},
      {"whatif", "Predict PyTorch's reserved memory under other allocator settings", declare_whatif},
      {"serve", "Show recordings in a browser, from this machine only", declare_serve},
      {"top", "Show the metrics of a recording in the terminal, while it is written", declare_top},
      {"demo", "Run and record a small demonstration program", declare_demo},
      {"generate", "Write a trace of any size, for tests and measurements", declare_generate},
#ifdef SLUICE_HAVE_GUI
      {"open", "Open the window; also `sluice FILE`, `sluice --demo NAME` and `sluice` alone", declare_open},
      {"screenshot", "Draw the window as a picture, without a display", declare_screenshot},
#endif
      {"manual", "Print the man page, or a shell's completions", declare_manual, true},
  };

  auto& words = line.arguments;
  if (names_verb(verbs, "open") &&
      (words.empty() || (!names_verb(verbs, words.front()) && is_for_window(words.front()))))
    words.insert(words.begin(), "open");

  if (!words.empty() && words.front().substr(0, 1) != "-" && !names_verb(verbs, words.front())) {
    complain("no verb named '" + words.front() + "'; see sluice --help");
    return status_usage;
  }

  if (!words.empty() && words.front().starts_with('-') && !is_own_option(words.front())) {
    complain(words.front() + ": no such option; see sluice --help");
    return status_usage;
  }

  CLI::App program{"Sluice: a profiler for GPU memory and transfers", "sluice"};
  program.set_version_flag("--version", std::string("sluice ") + version());
  program.require_subcommand(1);
  action chosen;
  for (const verb& v : verbs) {
    CLI::App* command = program.add_subcommand(v.name, v.about);
    if (v.hidden) command->group("");
    command->callback([&chosen, run_it = v.declare(*command)] { chosen = run_it; });
  }
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    program.parse(std::move(reversed));
  } catch (const CLI::Success& asked_for_text) {
    return program.exit(asked_for_text);
  } catch (const CLI::ParseError& mistake) {
    const bool recording = !words.empty() && words.front() == "record";
    const std::string about = !words.empty() && names_verb(verbs, words.front()) ? words.front() + " " : "";
    if (words.empty()) {
      std::fputs(program.help().c_str(), stderr);
      return status_usage;
    }
    complain(first_line(mistake.what()) + "; see sluice " + about + "--help");
    return recording ? status_not_recorded : status_usage;
  }
  return chosen();
}

}  // namespace
}  // namespace sluice::cli

int main(int argc, char** argv) {
  sluice::use_few_arenas();
  sluice::cli::add_standard_files();
  sluice::remove_unfinished_on_signals();
  sluice::outlive_file_size_limit();
  try {
    const int status = sluice::cli::run(argc, argv);
    // If the output could not be written, the verb has failed.
    if (status == 0 && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
      sluice::cli::complain("standard output was closed or is full");
      return sluice::cli::status_failed;
    }
    return status;
  } catch (const std::exception& surprise) {
    sluice::cli::complain(surprise.what());
    const std::string_view verb = argc > 1 ? argv[1] : "";
    return verb == "record"  ? sluice::cli::status_not_recorded
           : verb == "check" ? sluice::cli::status_not_judged
                             : sluice::cli::status_failed;
  }
}
