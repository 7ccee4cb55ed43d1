#include "core/export/recording/redact.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/lower_case.hpp"

namespace sluice::exports {
namespace {

constexpr std::string_view left_out = "[redacted]";
/// Characters that end a path or a NAME=value in a message.
constexpr std::string_view word_ends = " \t\n\r'\"`,;()<>|";
constexpr std::string_view spaces = " \t\n\r";
constexpr std::string_view quotes = "'\"`";
constexpr std::size_t nowhere = std::string_view::npos;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/// The position of the value if `word` is NAME=value or --name=value, else npos. Numbers of lower-case names are kept,
/// as sizes or counts ("batch=4").
std::size_t value_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == nowhere || equals == 0) return nowhere;
  const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
  if (!std::all_of(name.begin(), name.end(), [](char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }))
    return nowhere;
  const bool number = std::all_of(value.begin(), value.end(), is_digit);
  return number && !value.empty() && std::any_of(name.begin(), name.end(), is_lower) ? nowhere : equals + 1;
}

/// The end of the value that begins at `at`: its closing quote, or before a space or trailing punctuation.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  if (at < text.size() && quotes.find(text[at]) != nowhere) {
    const std::size_t close = text.find(text[at], at + 1);
    return close == nowhere ? text.size() : close + 1;
  }
  std::size_t end = std::min(text.find_first_of(spaces, at), text.size());
  while (end > at && std::string_view(",;.)'\"`").find(text[end - 1]) != nowhere) --end;
  return end;
}

bool is_address(int family, std::string_view text) {
  in6_addr made;
  return text.size() > 2 && ::inet_pton(family, std::string(text).c_str(), &made) == 1;
}

/// The end of the IPv4 or IPv6 address that begins at `at`; `at` if there is none.
std::size_t end_of_address(std::string_view text, std::size_t at) {
  if (at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '.')) return at;
  const auto end_of = [&](std::string_view characters) {
    return std::min(text.find_first_not_of(characters, at), text.size());
  };
  for (std::size_t end = end_of("0123456789abcdefABCDEF:.");
       end > at && (end == text.size() || !is_alnum(text[end]));) {
    if (is_address(AF_INET6, text.substr(at, end - at))) return end;
    // Skip trailing punctuation.
    if (text[end - 1] != '.' && text[end - 1] != ':') break;
    --end;
  }
  std::size_t end = end_of("0123456789.");
  if (end > at && end < text.size() && is_alnum(text[end])) return at;
  while (end > at && text[end - 1] == '.') --end;
  return is_address(AF_INET, text.substr(at, end - at)) ? end : at;
}

/// True for a file name with an ending such as ".py" or ".so.1". A bare word may also be a user or a project.
bool is_file_name(std::string_view part) {
  const std::size_t dot = part.find('.', 1);
  return dot != nowhere && dot + 1 < part.size();
}

/// True for a path from a root: "/x", "~/x", "C:\\x".
bool is_rooted(std::string_view word) {
  return word.size() > 1 &&
         (word[0] == '/' || word.starts_with("~/") || (word.size() > 2 && word[1] == ':' && word[2] == '\\'));
}

/// The end of a path that begins at `at` and whose first word ends at `end`. The path may have spaces if one of the
/// next words continues it ("/home/ann lee/x.py").
std::size_t end_of_path(std::string_view text, std::size_t at, std::size_t end) {
  constexpr int most_words = 4;
  if (!is_rooted(text.substr(at, end - at))) return end;
  std::size_t found = end;
  for (int words = 0; words < most_words && end + 1 < text.size() && text[end] == ' ' && text[end - 1] != ':';
       ++words) {
    const std::size_t next = end + 1;
    end = std::min(text.find_first_of(word_ends, next), text.size());
    const std::string_view one = text.substr(next, end - next);
    if (one.empty() || is_rooted(one) || one.find_first_of("=@") != nowhere) break;
    if (one.find_first_of("/\\") != nowhere) found = end;
  }
  return found;
}

bool is_path(std::string_view word) { return word.find_first_of("/\\") != nowhere && word.size() > 1; }

/// In code names one slash may be a division. A path begins with a slash or has several.
bool is_path_in_code(std::string_view word) {
  return is_path(word) && (std::string_view("/~.").find(word.front()) != nowhere || word.find('\\') != nowhere ||
                           std::count(word.begin(), word.end(), '/') > 1);
}

/// Replaces whole words (no letter or digit next to them), ignoring case, because programs may print names in any case.
/// `lower` is `in` in lower case, and is updated too.
void replace_words(std::string& in, std::string& lower, std::string_view what, std::string_view by) {
  for (std::size_t at = lower.find(what); at != std::string::npos;) {
    const std::size_t end = at + what.size();
    const bool whole = (at == 0 || !is_alnum(in[at - 1])) && (end == in.size() || !is_alnum(in[end]));
    if (whole) {
      in.replace(at, what.size(), by);
      lower.replace(at, what.size(), by);
    }
    at = lower.find(what, whole ? at + by.size() : at + 1);
  }
}

/// Replaces the longest names first: a name may be the start of another.
void replace_names(std::string& in, const std::unordered_map<std::string, std::string>& names) {
  if (names.empty()) return;
  std::vector<std::pair<std::string, std::string_view>> sorted;
  sorted.reserve(names.size());
  for (const auto& [name, by] : names) sorted.emplace_back(lower_case(name), by);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a < b;
  });
  std::string lower = lower_case(in);
  for (const auto& [name, by] : sorted) replace_words(in, lower, name, by);
}

/// Where the path inside a public Python package begins; npos if the file is in none of these. It tells nothing of the
/// machine, and without it nobody could tell an optimizer's memory from a module's.
std::size_t begin_of_public_package(std::string_view path) {
  constexpr std::string_view packages[] = {
      "torch", "torchvision",   "transformers", "accelerate", "lightning",         "timm",
      "peft",  "bitsandbytes",  "deepspeed",    "apex",       "pytorch_lightning", "cupy",
      "cupyx", "cupy_backends", "jax",          "jaxlib",     "jax_plugins",       "flax",
      "optax", "nvidia",        "numba",        "numba_cuda"};
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t found = path.rfind(folder);
    if (found == std::string_view::npos) continue;
    const std::string_view inside = path.substr(found + folder.size());
    const std::string_view package = inside.substr(0, inside.find('/'));
    if (inside.size() > package.size() &&
        std::find(std::begin(packages), std::end(packages), package) != std::end(packages))
      return found + 1;
  }
  return std::string_view::npos;
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
  // The name without its domain is the same machine.
  if (const std::size_t dot = name.find('.'); dot != nowhere && dot > 0 && end_of_address(name, 0) == 0)
    hosts_.try_emplace(std::string(name.substr(0, dot)), by);
}

void redactor::learn_user(std::string_view name) {
  if (name.size() > 1 && name != "root") static_cast<void>(numbered(users_, name, "user"));
}

void redactor::learn_users(std::string_view text) {
  if (!what_.hosts) return;
  const auto until = [](std::string_view rest, std::string_view marks) {
    return rest.substr(0, std::min(rest.find_first_of(marks), rest.size()));
  };
  for (const std::string_view folder : {"/home/", "/Users/", "\\Users\\", "\\users\\"}) {
    for (std::size_t at = text.find(folder); at != nowhere; at = text.find(folder, at + 1)) {
      std::string_view rest = text.substr(at + folder.size());
      rest.remove_prefix(std::min(rest.find_first_not_of("/\\"), rest.size()));
      learn_user(until(rest, "/\\ \t\n\r'\"`,;:()<>|"));
      // A name with spaces, if the path continues after it.
      const std::string_view whole = until(rest, "/\\\t\n\r'\"`,;:()<>|");
      const bool goes_on = whole.size() < rest.size() && (rest[whole.size()] == '/' || rest[whole.size()] == '\\');
      if (goes_on && !whole.ends_with(' ') && std::count(whole.begin(), whole.end(), ' ') < 4) learn_user(whole);
    }
  }
  for (const std::string_view variable : {"USER=", "LOGNAME=", "USERNAME=", "HOME="}) {
    for (std::size_t at = text.find(variable); at != nowhere; at = text.find(variable, at + 1)) {
      if (at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '_')) continue;
      std::string_view rest = text.substr(at + variable.size());
      if (!rest.empty() && quotes.find(rest[0]) != nowhere) rest.remove_prefix(1);
      rest = until(rest, " \t\n\r'\"`,;:()<>|");
      while (rest.ends_with('/') || rest.ends_with('\\')) rest.remove_suffix(1);
      learn_user(rest.substr(rest.find_last_of("/\\") + 1));
    }
  }
}

std::string redactor::without_names(std::string text) const {
  if (!what_.hosts) return text;
  replace_names(text, hosts_);
  replace_names(text, users_);
  return text;
}

std::string redactor::without_addresses(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_address(text, at);
    if (end > at) {
      made += numbered(hosts_, text.substr(at, end - at), "host");
      at = end;
    } else {
      made += text[at++];
    }
  }
  return made;
}

std::string redactor::path(std::string_view text) {
  if (const std::size_t package = begin_of_public_package(text); package != std::string_view::npos)
    return numbered(directories_, text.substr(0, package - 1), "dir") + "/" + std::string(text.substr(package));
  const std::size_t slash = text.find_last_of("/\\");
  if (slash == std::string_view::npos) return std::string(text);
  return numbered(directories_, text.substr(0, slash), "dir") + "/" + std::string(text.substr(slash + 1));
}

/// Keeps the program's name; its path is redacted like other paths.
std::string redactor::arguments(std::string_view text) {
  const std::size_t space = text.find_first_of(" \t\n");
  const std::string_view first = text.substr(0, space);
  std::string kept = what_.paths ? path(first) : std::string(first);
  if (space != std::string_view::npos) kept.append(" ").append(left_out);
  return kept;
}

/// Redacts a path in a message. A last part without an ending may not be a file, so it is treated as a directory.
std::string redactor::path_in_message(std::string_view text) {
  const std::string_view last = text.substr(text.find_last_of("/\\") + 1);
  if (last.empty() || is_file_name(last)) return path(text);
  return path(text.substr(0, text.size() - last.size())) + numbered(entries_, last, "name");
}

/// Redacts one word of a message that is not NAME=value.
std::string redactor::word(std::string_view text) {
  const std::size_t at = text.find('@');
  const bool address = text.find("://") != nowhere || (at != nowhere && at > 0 && at + 1 < text.size());
  if (address && (what_.hosts || what_.paths)) return numbered(addresses_, text, "address");
  const std::string kept = what_.paths && is_path(text) ? path_in_message(text) : std::string(text);
  return what_.hosts ? without_addresses(kept) : kept;
}

/// Redacts words of a message: paths, values, addresses, and names of hosts and users.
std::string redactor::message(std::string_view text) {
  std::string made;
  bool is_value = false;  // The previous word was an option.
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
    if (what_.paths && !is_value) end = end_of_path(text, at, end);
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
      // Only "--name value", not a dash in a sentence.
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

/// Redacts function and kernel names: generated ones may contain the path of their source.
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
