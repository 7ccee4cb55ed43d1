#include "app/cli/manual/verb_tree.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

namespace sluice::cli {
namespace {

/// True for a type such as "text|json", which lists literal words to choose from.
bool is_choice(const std::string& type) {
  return type.find('|') != std::string::npos && std::all_of(type.begin(), type.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '|' || c == '-';
         });
}

option_facts describe(const CLI::Option& option) {
  option_facts made;
  if (!option.get_snames().empty()) made.short_name = option.get_snames().front();
  if (!option.get_lnames().empty()) made.long_name = option.get_lnames().front();
  if (!option.nonpositional()) made.positional = option.get_name(true);
  made.value = option.get_type_name();
  made.description = option.get_description();
  made.default_value = option.get_default_str();
  made.variable = option.get_envname();
  made.required = option.get_required();
  made.repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_items_expected_max() == 0 || option.get_type_size() == 0) {
    made.value.clear();
    made.default_value.clear();
    return made;
  }
  made.kind = value_kind::any;
  const std::string& word = made.positional.empty() ? made.value : made.positional;
  if (is_choice(made.value)) {
    made.kind = value_kind::choice;
    std::istringstream words(made.value);
    for (std::string each; std::getline(words, each, '|');) made.choices.push_back(each);
  } else if (word == "FILE" || word == "OLD" || word == "PROGRAM") {
    made.kind = value_kind::file;
  } else if (word == "FOLDER") {
    made.kind = value_kind::folder;
  }
  return made;
}

/// The usage line as `--help` prints it, but without "Usage: ". `before`: the words that precede the command's name.
std::string usage_of(const CLI::App& command, const std::string& before) {
  const std::string text = command.help(before);
  const std::string_view begin = "Usage: ";
  const auto at = text.find(begin);
  if (at == std::string::npos) return command.get_name();
  const auto start = at + begin.size();
  return text.substr(start, text.find('\n', start) - start);
}

verb_facts describe_verb(const CLI::App& command, const std::string& before) {
  verb_facts made;
  made.name = command.get_name();
  made.about = command.get_description();
  made.usage = usage_of(command, before);
  made.footer = command.get_footer();
  made.runs_command = command.get_prefix_command();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    option_facts facts = describe(*option);
    (facts.positional.empty() ? made.options : made.positionals).push_back(std::move(facts));
  }
  return made;
}

}  // namespace

program_facts describe(const CLI::App& program) {
  program_facts made;
  made.itself = describe_verb(program, "");
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    made.verbs.push_back(describe_verb(*command, program.get_name()));
  }
  return made;
}

}  // namespace sluice::cli
