#include "core/export/redact.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace sluice::exports {
namespace {

constexpr std::string_view left_out = "[redacted]";
/// What ends a path or a NAME=value inside a message.
constexpr std::string_view word_ends = " \t\n\r'\"`,;()<>|";
constexpr std::string_view spaces = " \t\n\r";
constexpr std::string_view quotes = "'\"`";
constexpr std::size_t nowhere = std::string_view::npos;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/// Where the value begins, if `word` is NAME=value or --name=value; npos if it is none. A number of a lower-case name stays: it
/// is a size or a count ("batch=4").
std::size_t value_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == nowhere || equals == 0) return nowhere;
  const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
  if (!std::all_of(name.begin(), name.end(), [](char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }))
    return nowhere;
  const bool number = std::all_of(value.begin(), value.end(), is_digit);
  return number && !value.empty() && std::any_of(name.begin(), name.end(), is_lower) ? nowhere : equals + 1;
}

/// Where the value that begins at `at` ends: with its quote, or before a space and the marks that close a sentence.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  if (at < text.size() && quotes.find(text[at]) != nowhere) {
    const std::size_t close = text.find(text[at], at + 1);
    return close == nowhere ? text.size() : close + 1;
  }
  std::size_t end = std::min(text.find_first_of(spaces, at), text.size());
  while (end > at && std::string_view(",;.)'\"`").find(text[end - 1]) != nowhere) --end;
  return end;
}

/// Four numbers with points between, and perhaps a port.
bool is_address(std::string_view word) {
  const std::string_view host = word.substr(0, word.find(':'));
  return std::count(host.begin(), host.end(), '.') == 3 && host.front() != '.' && host.back() != '.' &&
         std::all_of(host.begin(), host.end(), [](char c) { return is_digit(c) || c == '.'; });
}

bool is_path(std::string_view word) { return word.find_first_of("/\\") != nowhere && word.size() > 1; }

/// In names of code one slash divides; a path begins with one or has more.
bool is_path_in_code(std::string_view word) {
  return is_path(word) && (std::string_view("/~.").find(word.front()) != nowhere || word.find('\\') != nowhere ||
                           std::count(word.begin(), word.end(), '/') > 1);
}

/// Whole words only: neither a letter nor a digit stands beside them.
void replace_words(std::string& in, std::string_view what, std::string_view by) {
  for (std::size_t at = in.find(what); at != std::string::npos;) {
    const std::size_t end = at + what.size();
    const bool whole = (at == 0 || !is_alnum(in[at - 1])) && (end == in.size() || !is_alnum(in[end]));
    if (whole) in.replace(at, what.size(), by);
    at = in.find(what, whole ? at + by.size() : at + 1);
  }
}

/// The longest first: a name may begin another.
void replace_names(std::string& in, const std::unordered_map<std::string, std::string>& names) {
  std::vector<std::pair<std::string_view, std::string_view>> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a.first < b.first;
  });
  for (const auto& [name, by] : sorted) replace_words(in, name, by);
}

}  // namespace

const std::string& redactor::numbered(std::unordered_map<std::string, std::string>& names, std::string_view text,
                                      std::string_view word) {
  const auto [place, fresh] = names.try_emplace(std::string(text));
  if (fresh) place->second = std::string(word) + std::to_string(names.size());
  return place->second;
}

void redactor::learn_host(std::string_view name) {
  if (name.empty()) return;
  const std::string by = numbered(hosts_, name, "host");
  // Without its domain it is the same machine.
  if (const std::size_t dot = name.find('.'); dot != nowhere && dot > 0 && !is_address(name))
    hosts_.try_emplace(std::string(name.substr(0, dot)), by);
}

void redactor::learn_users(std::string_view text) {
  if (!what_.hosts) return;
  for (const std::string_view folder : {"/home/", "/Users/", "\\Users\\"}) {
    for (std::size_t at = text.find(folder); at != nowhere; at = text.find(folder, at + 1)) {
      const std::string_view rest = text.substr(at + folder.size());
      const std::string_view name = rest.substr(0, std::min(rest.find_first_of("/\\ \t\n\r'\"`,;:()<>|"), rest.size()));
      if (name.size() > 1) static_cast<void>(numbered(users_, name, "user"));
    }
  }
}

std::string redactor::without_names(std::string text) const {
  if (!what_.hosts) return text;
  replace_names(text, hosts_);
  replace_names(text, users_);
  return text;
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

/// One word of a message that is no NAME=value.
std::string redactor::word(std::string_view text) {
  const std::size_t at = text.find('@');
  const bool address = text.find("://") != nowhere || (at != nowhere && at > 0 && at + 1 < text.size());
  if (address && (what_.hosts || what_.paths)) return numbered(addresses_, text, "address");
  if (what_.hosts && !text.empty() && is_address(text)) return numbered(hosts_, text, "host");
  return what_.paths && is_path(text) ? path(text) : std::string(text);
}

/// Words of a message that are paths, values, addresses or names of hosts and users.
std::string redactor::message(std::string_view text) {
  std::string made;
  bool is_value = false;  // Of the option before.
  for (std::size_t at = 0; at < text.size();) {
    // A quoted path may have spaces.
    if (quotes.find(text[at]) != nowhere && what_.paths && !is_value) {
      const std::size_t close = text.find(text[at], at + 1);
      if (close != nowhere && is_path(text.substr(at + 1, close - at - 1)) &&
          text.substr(at, close - at).find('=') == nowhere) {
        made.append(1, text[at]).append(word(text.substr(at + 1, close - at - 1))).append(1, text[at]);
        at = close + 1;
        continue;
      }
    }
    std::size_t end = std::min(text.find_first_of(word_ends, at), text.size());
    const std::string_view one = text.substr(at, end - at);
    const std::size_t value = what_.environment ? value_of(one) : nowhere;
    if (value != nowhere) {
      made.append(one.substr(0, value)).append(left_out);
      end = std::max(end_of_value(text, at + value), at + value);
    } else if (is_value && spaces.find(text[at]) == nowhere && text[at] != '-') {
      made += left_out;
      end = end_of_value(text, at);
      if (end == at) ++end;
    } else {
      made += word(one);
      if (end < text.size()) made += text[end];
      // "--name value", not a dash of a sentence.
      if (!one.empty())
        is_value =
            what_.environment && one.size() > 2 && one.starts_with("--") && end < text.size() && text[end] == ' ';
      at = end + 1;
      continue;
    }
    is_value = false;
    at = end;
  }
  return without_names(std::move(made));
}

/// Names of functions and kernels: made ones may hold the path of what they were made from.
std::string redactor::code(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(word_ends, at), text.size());
    const std::string_view one = text.substr(at, end - at);
    made += what_.paths && is_path_in_code(one) ? path(one) : std::string(one);
    if (end < text.size()) made += text[end];
    at = end + 1;
  }
  return without_names(std::move(made));
}

std::string_view redactor::text(std::string_view text, text_role role) {
  if (!what_.any() || text.empty()) return text;
  switch (role) {
    case text_role::code:
      return last_ = code(text);
    case text_role::path:
      return last_ = without_names(what_.paths ? path(text) : std::string(text));
    case text_role::arguments:
      if (what_.arguments) return last_ = without_names(arguments(text));
      return last_ = message(text);
    case text_role::host:
      return what_.hosts ? std::string_view(last_ = numbered(hosts_, text, "host")) : text;
    case text_role::plain:
    case text_role::message:
      return last_ = message(text);
    case text_role::source:
      return what_.sources ? left_out : text;
  }
  return left_out;
}

}  // namespace sluice::exports
