#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

/// The declared verbs and options as plain data, and what is made of them. So `--help`, the man page and the completions
/// of shells have one source: the declarations.
namespace sluice::cli {

/// What follows an option, as far as a shell can complete it.
enum class value_kind {
  none,    ///< The option is a flag.
  any,     ///< A number, a size, a text: nothing to offer.
  choice,  ///< One of `choices`.
  file,
  folder,
};

struct option_facts {
  std::string short_name;  ///< "o", without the dash; may be empty.
  std::string long_name;   ///< "output"; may be empty.
  std::string positional;  ///< "FILE"; empty if it is named.
  std::string value;       ///< What its value is called: "SECONDS", "text|json"; may be empty.
  value_kind kind = value_kind::none;
  std::vector<std::string> choices;
  std::string description;    ///< May have line ends.
  std::string default_value;  ///< Empty if there is none.
  std::string variable;       ///< Environment variable that sets it; may be empty.
  bool required = false;
  bool repeated = false;  ///< May be given more than once.
};

struct verb_facts {
  std::string name;
  std::string about;
  std::string usage;                  ///< "sluice record [OPTIONS] -- CMD ARGS..."
  std::vector<option_facts> options;  ///< As `--help` lists them; those without a group are left out.
  std::vector<option_facts> positionals;
  std::string footer;
  bool runs_command = false;  ///< What follows is another command with its arguments.
};

struct program_facts {
  verb_facts itself;
  std::vector<verb_facts> verbs;  ///< Without hidden ones.
};

/// Reads what `program` and its subcommands declare.
[[nodiscard]] program_facts describe(const CLI::App& program);

/// The man page sluice(1), in roff's man macros. `version`: of the program.
[[nodiscard]] std::string man_page(const program_facts& program, const std::string& version);

/// Scripts that complete verbs, options, their values and files. They start no program.
[[nodiscard]] std::string bash_completion(const program_facts& program);
[[nodiscard]] std::string zsh_completion(const program_facts& program);
[[nodiscard]] std::string fish_completion(const program_facts& program);

}  // namespace sluice::cli
