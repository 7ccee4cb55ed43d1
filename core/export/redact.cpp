#include "core/export/redact.hpp"

#include <algorithm>
#include <cctype>

namespace sluice::exports {
namespace {

constexpr std::string_view left_out = "[redacted]";
/// What ends a path or a NAME=value inside a message.
constexpr std::string_view word_ends = " \t\n\r'\"`,;()<>|";

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Where the value begins, if `word` is NAME=value with the name of an environment variable; npos if it is none.
std::size_t value_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == word.size()) return std::string_view::npos;
  const std::string_view name = word.substr(0, equals);
  const bool named = std::all_of(name.begin(), name.end(), is_name) &&
                     std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isupper(c) != 0; }) &&
                     std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c) != 0; });
  return named ? equals + 1 : std::string_view::npos;
}

void replace_all(std::string& in, std::string_view what, std::string_view by) {
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + by.size()))
    in.replace(at, what.size(), by);
}

}  // namespace

const std::string& redactor::numbered(std::unordered_map<std::string, std::string>& names, std::string_view text,
                                      std::string_view word) {
  const auto [place, fresh] = names.try_emplace(std::string(text));
  if (fresh) place->second = std::string(word) + std::to_string(names.size());
  return place->second;
}

void redactor::learn_host(std::string_view name) {
  if (!name.empty()) static_cast<void>(numbered(hosts_, name, "host"));
}

std::string redactor::path(std::string_view text) {
  const std::size_t slash = text.find_last_of("/\\");
  if (slash == std::string_view::npos) return std::string(text);
  return numbered(directories_, text.substr(0, slash), "dir") + "/" + std::string(text.substr(slash + 1));
}

/// The program's name stays; a path of it goes as paths do.
std::string redactor::arguments(std::string_view text) {
  const std::size_t space = text.find_first_of(" \t\n");
  const std::string_view first = text.substr(0, space);
  std::string kept = what_.paths ? path(first) : std::string(first);
  if (space != std::string_view::npos) kept.append(" ").append(left_out);
  return kept;
}

/// Words of a message that are paths, values of the environment or names of hosts.
std::string redactor::message(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(word_ends, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t value = what_.environment ? value_of(word) : std::string_view::npos;
    if (value != std::string_view::npos) {
      made.append(word.substr(0, value)).append(left_out);
    } else if (what_.paths && word.find('/') != std::string_view::npos) {
      made += path(word);
    } else {
      made += word;
    }
    if (end < text.size()) made += text[end];
    at = end + 1;
  }
  if (what_.hosts)
    for (const auto& [host, by] : hosts_) replace_all(made, host, by);
  return made;
}

std::string_view redactor::text(std::string_view text, text_role role) {
  if (!what_.any() || text.empty()) return text;
  switch (role) {
    case text_role::plain:
      return text;
    case text_role::path:
      return what_.paths ? std::string_view(last_ = path(text)) : text;
    case text_role::arguments:
      if (what_.arguments) return last_ = arguments(text);
      return what_.paths ? std::string_view(last_ = message(text)) : text;
    case text_role::host:
      return what_.hosts ? std::string_view(last_ = numbered(hosts_, text, "host")) : text;
    case text_role::message:
      return last_ = message(text);
    case text_role::source:
      return what_.sources ? left_out : text;
  }
  return text;
}

}  // namespace sluice::exports
