#include <fmt/format.h>

#include "app/cli/manual/verb_tree.hpp"

namespace sluice::cli {
namespace {

constexpr char kept_line_end = '\x01';  ///< Stands for the request .br until the surrounding text has been escaped.

/// Escapes text for roff: special characters, and lines that roff would interpret as requests.
std::string roff(const std::string& text) {
  std::string line;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) line += "\\&";
    at_start = c == '\n' || (at_start && c == kept_line_end);
    if (c == '\\') {
      line += "\\e";
    } else if (c == '-') {
      line += "\\-";
    } else {
      line += c;
    }
  }
  return line;
}

/// Keeps the line breaks of a text, except those that only wrap a full line.
std::string lines(const std::string& text) {
  constexpr std::size_t full = 80;
  std::string line;
  std::size_t length = 0;
  for (const char c : text) {
    line += c;
    ++length;
    if (c != '\n') continue;
    if (length <= full) line += kept_line_end;
    length = 0;
  }
  line = roff(line);
  for (std::size_t at = 0; (at = line.find(kept_line_end, at)) != std::string::npos;) line.replace(at, 1, ".br\n");
  return line;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string get_name(const option_facts& option) {
  if (!option.positional.empty()) return italic(option.positional);
  std::string text;
  if (!option.short_name.empty()) text += bold("-" + option.short_name);
  if (!option.long_name.empty()) text += (text.empty() ? "" : ", ") + bold("--" + option.long_name);
  if (!option.value.empty()) text += " " + italic(option.value);
  return text;
}

std::string entry(const option_facts& option) {
  std::string text = fmt::format(".TP\n{}\n{}\n", get_name(option), lines(option.description));
  if (!option.default_value.empty()) text += ".br\nDefault: " + roff(option.default_value) + "\n";
  if (!option.variable.empty()) text += ".br\nThe environment variable " + bold(option.variable) + " also sets it.\n";
  if (option.required) text += ".br\nRequired.\n";
  return text;
}

std::string section(const verb_facts& verb) {
  std::string text = fmt::format(".SS {}\n{}.\n.PP\n{}\n", roff(verb.name), roff(verb.about), bold(verb.usage));
  for (const option_facts& each : verb.positionals) text += entry(each);
  for (const option_facts& each : verb.options) {
    if (each.long_name != "help") text += entry(each);
  }
  if (!verb.footer.empty()) text += ".PP\n" + lines(verb.footer) + "\n";
  return text;
}

}  // namespace

std::string man_page(const program_facts& program, const std::string& version) {
  std::string text = fmt::format(".TH SLUICE 1 \"\" \"sluice {}\" \"User Commands\"\n", roff(version));
  const std::string about = program.itself.about;  // "Sluice: a profiler for ..."
  const auto colon = about.find(": ");
  text += ".SH NAME\nsluice \\- " + roff(colon == std::string::npos ? about : about.substr(colon + 2)) + "\n";
  text += ".SH SYNOPSIS\n";
  for (const verb_facts& verb : program.verbs) text += bold(verb.usage) + "\n.br\n";
  text += ".SH COMMANDS\n";
  for (const verb_facts& verb : program.verbs) text += section(verb);
  text += ".SH OPTIONS\nEach command accepts " + bold("--help") + ".\n";
  for (const option_facts& each : program.itself.options) text += entry(each);
  return text;
}

}  // namespace sluice::cli
