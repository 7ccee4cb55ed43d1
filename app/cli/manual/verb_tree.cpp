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
  option_facts facts;
  if (!option.get_snames().empty()) facts.short_name = option.get_snames().front();
  if (!option.get_lnames().empty()) facts.long_name = option.get_lnames().front();
  if (!option.nonpositional()) facts.positional = option.get_name(true);
  facts.value = option.get_type_name();
  facts.description = option.get_description();
  facts.default_value = option.get_default_str();
  facts.variable = option.get_envname();
  facts.required = option.get_required();
  facts.repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_items_expected_max() == 0 || option.get_type_size() == 0) {
    facts.value.clear();
    facts.default_value.clear();
    return facts;
  }
  facts.kind = value_kind::any;
  const std::string& word = facts.positional.empty() ? facts.value : facts.positional;
  if (is_choice(facts.value)) {
    facts.kind = value_kind::choice;
    std::istringstream words(facts.value);
    for (std::string each; std::getline(words, each, '|');) facts.choices.push_back(each);
  } else if (word == "FILE" || word == "OLD" || word == "PROGRAM") {
    facts.kind = value_kind::file;
  } else if (word == "FOLDER") {
    facts.kind = value_kind::folder;
  }
  return facts;
}

/// The usage line as `--help` prints it, but without "Usage: ". `before`: the words that precede the command's name.
std::string format_usage(const CLI::App& command, const std::string& before) {
  const std::string text = command.help(before);
  const std::string_view begin = "Usage: ";
  const auto at = text.find(begin);
  if (at == std::string::npos) return command.get_name();
  const auto start = at + begin.size();
  return text.substr(start, text.find('\n', start) - start);
}

verb_facts describe_verb(const CLI::App& command, const std::string& before) {
  verb_facts output;
  output.name = command.get_name();
  output.about = command.get_description();
  output.usage = format_usage(command, before);
  output.footer = command.get_footer();
  output.runs_command = command.get_prefix_command();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    option_facts facts = describe(*option);
    (facts.positional.empty() ? output.options : output.positionals).push_back(std::move(facts));
  }
  return output;
}

}  // namespace

program_facts describe(const CLI::App& program) {
  program_facts facts;
  facts.itself = describe_verb(program, "");
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    facts.verbs.push_back(describe_verb(*command, program.get_name()));
  }
  return facts;
}

}  // namespace sluice::cli
