#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

/// The declared verbs and options as plain data, and the documents generated from that data. The declarations are the
/// only source of `--help`, the man page and the shell completions.
namespace sluice::cli {

/// The kind of an option's value, so that a shell can complete the value.
enum class value_kind {
  none,    ///< The option is a flag.
  any,     ///< A number, size or text: nothing to complete.
  choice,  ///< One of `choices`.
  file,
  folder,
};

struct option_facts {
  std::string short_name;  ///< "o", without the dash; may be empty.
  std::string long_name;   ///< "output"; may be empty.
  std::string positional;  ///< "FILE"; empty if the option has a name.
  std::string value;       ///< The placeholder of the option's value: "SECONDS", "text|json"; may be empty.
  value_kind kind = value_kind::none;
  std::vector<std::string> choices;
  std::string description;    ///< May consist of several lines.
  std::string default_value;  ///< Empty if there is none.
  std::string variable;       ///< Environment variable that sets the option; may be empty.
  bool required = false;
  bool repeated = false;  ///< The option may be given more than once.
};

struct verb_facts {
  std::string name;
  std::string about;
  std::string usage;                  ///< "sluice record [OPTIONS] -- CMD ARGS..."
  std::vector<option_facts> options;  ///< In the order of `--help`. Options without a group are omitted.
  std::vector<option_facts> positionals;
  std::string footer;
  bool runs_command = false;  ///< The rest of the command line is another command with its arguments.
};

struct program_facts {
  verb_facts itself;
  std::vector<verb_facts> verbs;  ///< Without hidden verbs.
};

/// Reads the declarations of `program` and its subcommands.
[[nodiscard]] program_facts describe(const CLI::App& program);

/// The man page sluice(1), in roff's man macros. `version`: the program's version.
[[nodiscard]] std::string man_page(const program_facts& program, const std::string& version);

/// Completion scripts for verbs, options, option values and files. The scripts start no program.
[[nodiscard]] std::string bash_completion(const program_facts& program);
[[nodiscard]] std::string zsh_completion(const program_facts& program);
[[nodiscard]] std::string fish_completion(const program_facts& program);

}  // namespace sluice::cli
