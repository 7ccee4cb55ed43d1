#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "app/cli/manual/verb_tree.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view note = "Made by `sluice manual` of the program's own declarations.";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// In single quotes, for a POSIX shell.
std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return made + "'";
}

/// "-o", "--output", as far as the option has them.
std::vector<std::string> dashed(const option_facts& option) {
  std::vector<std::string> names;
  if (!option.short_name.empty()) names.push_back("-" + option.short_name);
  if (!option.long_name.empty()) names.push_back("--" + option.long_name);
  return names;
}

std::string words_of(const std::vector<option_facts>& options) {
  std::string words;
  for (const option_facts& each : options)
    for (const std::string& name : dashed(each)) words += (words.empty() ? "" : " ") + name;
  return words;
}

// bash

/// Where a value of this kind comes from, as a bash command that fills COMPREPLY.
std::string bash_values(const option_facts& option) {
  switch (option.kind) {
    case value_kind::choice:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\"))",
                         quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    case value_kind::file:
      return "_sluice_files -f";
    case value_kind::folder:
      return "_sluice_files -d";
    case value_kind::any:
    case value_kind::none:
      return "COMPREPLY=()";
  }
  return "";
}

std::string bash_verb(const verb_facts& verb) {
  std::string text = fmt::format("    {})\n", verb.name);
  text += "      case $before in\n";
  for (const option_facts& each : verb.options) {
    if (each.kind == value_kind::none) continue;
    text += fmt::format("        {}) {}; return ;;\n", fmt::join(dashed(each), " | "), bash_values(each));
  }
  text += "      esac\n";
  if (verb.runs_command) {
    text +=
        "      local at\n"
        "      for ((at = 2; at < COMP_CWORD; ++at)); do\n"
        "        if [[ ${COMP_WORDS[at]} == -- ]]; then\n"
        "          if declare -F _command_offset >/dev/null; then _command_offset $((at + 1)); else _sluice_files -c; "
        "fi\n"
        "          return\n"
        "        fi\n"
        "      done\n";
  }
  text += fmt::format("      if [[ $current == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$current\")); return; fi\n",
                      quoted(words_of(verb.options)));
  if (!verb.positionals.empty()) text += "      " + bash_values(verb.positionals.front()) + "\n";
  if (verb.runs_command) text += "      _sluice_files -c\n";
  return text + "      ;;\n";
}

// zsh

/// For a description or a message in _arguments: brackets and colons are its own.
std::string zsh_text(const std::string& text) {
  std::string made;
  for (const char c : first_line(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') made += '\\';
    made += c;
  }
  return made;
}

std::string zsh_action(const option_facts& option) {
  switch (option.kind) {
    case value_kind::choice:
      return fmt::format("({})", fmt::join(option.choices, " "));
    case value_kind::file:
      return "_files";
    case value_kind::folder:
      return "_files -/";
    case value_kind::any:
    case value_kind::none:
      return " ";
  }
  return "";
}

std::string zsh_option(const option_facts& option) {
  std::string text;
  const std::vector<std::string> names = dashed(option);
  for (const std::string& name : names) {
    const bool is_long = name.starts_with("--");
    std::string spec = option.repeated ? "*" : names.size() > 1 ? fmt::format("({})", fmt::join(names, " ")) : "";
    spec += name;
    if (option.kind != value_kind::none) spec += is_long ? "=" : "+";
    spec += "[" + zsh_text(option.description) + "]";
    if (option.kind != value_kind::none) spec += ":" + zsh_text(option.value) + ":" + zsh_action(option);
    text += " \\\n        " + quoted(spec);
  }
  return text;
}

std::string zsh_verb(const verb_facts& verb) {
  std::string text = fmt::format("    {})\n      _arguments -s -S", verb.name);
  for (const option_facts& each : verb.options) text += zsh_option(each);
  std::size_t place = 0;
  for (const option_facts& each : verb.positionals) {
    const std::string where = each.repeated ? "*" : std::to_string(++place);
    text += " \\\n        " + quoted(fmt::format("{}:{}:{}", where, zsh_text(each.positional), zsh_action(each)));
  }
  if (verb.runs_command) text += " \\\n        '(-)*::command:_normal'";
  return text + "\n      ;;\n";
}

// fish

/// In single quotes, for fish: only the quote and the backslash are special there.
std::string fish_text(const std::string& text) {
  std::string made = "'";
  for (const char c : first_line(text)) {
    if (c == '\'' || c == '\\') made += '\\';
    made += c;
  }
  return made + "'";
}

std::string fish_values(const option_facts& option) {
  switch (option.kind) {
    case value_kind::choice:
      return fmt::format(" -x -a {}", fish_text(fmt::format("{}", fmt::join(option.choices, " "))));
    case value_kind::file:
      return " -r -F";
    case value_kind::folder:
      return " -x -a '(__fish_complete_directories)'";
    case value_kind::any:
      return " -x";
    case value_kind::none:
      return "";
  }
  return "";
}

std::string fish_option(const option_facts& option, const std::string& when) {
  std::string text = "complete -c sluice -n " + fish_text(when);
  if (!option.short_name.empty()) text += " -s " + option.short_name;
  if (!option.long_name.empty()) text += " -l " + option.long_name;
  return text + fish_values(option) + " -d " + fish_text(option.description) + "\n";
}

}  // namespace

std::string bash_completion(const program_facts& program) {
  std::string verbs;
  for (const verb_facts& verb : program.verbs) verbs += (verbs.empty() ? "" : " ") + verb.name;
  std::string text = fmt::format("# Completions of sluice for bash. {}\n", note);
  text += R"(
_sluice_files() {
  compopt -o filenames 2>/dev/null
  local IFS=$'\n'
  COMPREPLY=($(compgen "$1" -- "$current"))
}

_sluice() {
  COMPREPLY=()
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  # --option=value comes in three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
)";
  text += "  if [[ $COMP_CWORD -eq 1 ]]; then\n";
  text += fmt::format("    if [[ $current == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$current\")); return; fi\n",
                      quoted(words_of(program.itself.options)));
  text += "    _sluice_files -f\n";
  text += fmt::format("    COMPREPLY=($(compgen -W {} -- \"$current\") \"${{COMPREPLY[@]}}\")\n    return\n  fi\n",
                      quoted(verbs));
  text += "  case ${COMP_WORDS[1]} in\n";
  for (const verb_facts& verb : program.verbs) text += bash_verb(verb);
  return text + "    *) _sluice_files -f ;;\n  esac\n}\n\ncomplete -F _sluice sluice\n";
}

std::string zsh_completion(const program_facts& program) {
  std::string text = fmt::format("#compdef sluice\n# Completions of sluice for zsh. {}\n\n", note);
  text +=
      "_sluice() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n  local -a verbs\n  verbs=(\n";
  for (const verb_facts& verb : program.verbs) text += "    " + quoted(verb.name + ":" + zsh_text(verb.about)) + "\n";
  text += "  )\n  _arguments -C";
  for (const option_facts& each : program.itself.options) text += zsh_option(each);
  text += " \\\n        '1: :->first' \\\n        '*:: :->rest' && return\n";
  text +=
      "  case $state in\n    first)\n      _describe -t commands command verbs\n      _files\n      return ;;\n  "
      "esac\n";
  text += "  case $words[1] in\n";
  for (const verb_facts& verb : program.verbs) text += zsh_verb(verb);
  return text + "    *) _files ;;\n  esac\n}\n\n_sluice \"$@\"\n";
}

std::string fish_completion(const program_facts& program) {
  std::string text = fmt::format("# Completions of sluice for fish. {}\n\n", note);
  for (const option_facts& each : program.itself.options) text += fish_option(each, "__fish_use_subcommand");
  for (const verb_facts& verb : program.verbs) {
    text += fmt::format("complete -c sluice -n __fish_use_subcommand -a {} -d {}\n", verb.name, fish_text(verb.about));
    const std::string when = "__fish_seen_subcommand_from " + verb.name;
    for (const option_facts& each : verb.options) text += fish_option(each, when);
    const bool takes_files = !verb.positionals.empty() && (verb.positionals.front().kind == value_kind::file);
    if (verb.runs_command) {
      text += "complete -c sluice -n " + fish_text(when) + " -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
    } else if (!takes_files) {
      text += "complete -c sluice -n " + fish_text(when) + " -f\n";
    }
    if (!verb.positionals.empty() && verb.positionals.front().kind == value_kind::choice)
      text += "complete -c sluice -n " + fish_text(when) + fish_values(verb.positionals.front()) + "\n";
  }
  return text;
}

}  // namespace sluice::cli
