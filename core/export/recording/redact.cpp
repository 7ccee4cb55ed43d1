#include "core/export/recording/redact.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/base/lower_case.hpp"
#include "core/base/recorded_path.hpp"
#include "core/export/recording/characters.hpp"
#include "core/export/recording/plain_form.hpp"
#include "core/export/recording/secret_rules.hpp"

namespace sluice::exports {
namespace {

constexpr std::string_view left_out = "[redacted]";
/// The characters that end a path or a NAME=value in a message.
constexpr std::string_view word_ends = " \t\n\r'\"`,;()<>|";
/// Names of users and hosts are shorter than this. Longer texts are not names.
constexpr std::size_t longest_name = 256;
/// The most bytes of rewritten texts to keep.
constexpr std::size_t max_kept_bytes = 64'000'000;

/// Returns the position of the value if `word` is NAME=value or --name=value, otherwise npos. Returns npos also for
/// numbers after lower-case names, because they are sizes or counts ("batch=4").
std::size_t get_value(std::string_view word) {
  for (std::size_t equals = word.find('='); equals != nowhere; equals = word.find('=', equals + 1)) {
    std::size_t begin = equals;
    while (begin > 0 && is_of_name(word[begin - 1])) --begin;
    if (begin == equals || word.substr(equals + 1).starts_with('=')) continue;
    const std::string_view name = word.substr(begin, equals - begin);
    constexpr std::size_t max_digits = 20;
    const bool is_count =
        is_number(word.substr(equals + 1), max_digits) && std::any_of(name.begin(), name.end(), is_lower);
    return is_count ? nowhere : equals + 1;
  }
  return nowhere;
}

/// Returns the end of a value, which may have been redacted already.
std::size_t end_of_left_out(std::string_view text, std::size_t at) {
  return text.substr(at).starts_with(left_out) ? at + left_out.size() : std::max(at, end_of_value(text, at));
}

bool is_address(int family, std::string_view text) {
  constexpr std::size_t longest = 45;
  in6_addr addr;
  return text.size() > 2 && text.size() <= longest && ::inet_pton(family, std::string(text).c_str(), &addr) == 1;
}

/// True for the IPv6 address of a machine. "c10::add" and "::add" could also be addresses, but are code. Therefore, an
/// address with a single group on one side of "::" counts only if it has a prefix of machines.
bool is_ipv6(std::string_view text) {
  if (!is_address(AF_INET6, text)) return false;
  const auto groups = std::count(text.begin(), text.end(), ':');
  if (groups > 2 || text.find('.') != nowhere) return true;
  const std::string prefix = lower_case(text.substr(0, std::min<std::size_t>(text.find(':'), 4)));
  if (prefix.empty()) return std::all_of(text.begin() + 2, text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return prefix.size() == 4 && (prefix.starts_with("fe8") || prefix.starts_with("fc") || prefix.starts_with("fd") ||
                                prefix[0] == '2' || prefix[0] == '3');
}

/// Returns the end of the IPv4 or IPv6 address that starts at `at`, or `at` if there is none.
std::size_t end_of_address(std::string_view text, std::size_t at) {
  if (at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '.')) return at;
  constexpr std::size_t longest = 64;
  const std::string_view near = text.substr(0, std::min(text.size(), at + longest));
  const auto get_end = [&](std::string_view characters) {
    return std::min(near.find_first_not_of(characters, at), near.size());
  };
  std::size_t end = get_end("0123456789abcdefABCDEF:.");
  constexpr int max_punctuation = 3;
  for (int skipped = 0; skipped <= max_punctuation && end > at && (end == text.size() || !is_alnum(text[end]));
       ++skipped) {
    if (is_ipv6(text.substr(at, end - at))) return end;
    if (text[end - 1] != '.' && text[end - 1] != ':') break;
    --end;
  }
  end = get_end("0123456789.");
  if (end > at && end < text.size() && is_alnum(text[end])) return at;
  while (end > at && text[end - 1] == '.') --end;
  return is_address(AF_INET, text.substr(at, end - at)) ? end : at;
}

/// Returns the end of the hardware address (six pairs of digits) that starts at `at`, or `at` if there is none.
std::size_t end_of_hardware_address(std::string_view text, std::size_t at) {
  constexpr std::size_t length = 17;
  const std::string_view found = text.substr(at, length);
  if (found.size() < length || (at > 0 && is_alnum(text[at - 1]))) return at;
  const char mark = found[2];
  if (mark != ':' && mark != '-') return at;
  for (std::size_t i = 0; i < length; ++i)
    if (i % 3 == 2 ? found[i] != mark : !is_hexadecimal(found[i])) return at;
  const bool ends = at + length == text.size() || (!is_alnum(text[at + length]) && text[at + length] != mark);
  return ends ? at + length : at;
}

/// Returns the end of the host name with a domain that starts at `at`, or `at` if there is none. The last part of the
/// name decides, so "torch.nn.functional" is not a host.
std::size_t end_of_host_name(std::string_view text, std::size_t at) {
  if (!is_alnum(text[at]) || (at > 0 && is_of_name(text[at - 1]))) return at;
  constexpr std::array<std::string_view, 13> domains = {
      "local", "lan", "internal", "intranet", "localdomain", "corp", "arpa", "com", "org", "net", "edu", "gov", "mil"};
  constexpr std::size_t longest = 253;
  const std::size_t limit = std::min(text.size(), at + longest + 1);
  std::size_t end = at;
  while (end < limit && (is_alnum(text[end]) || text[end] == '-' || text[end] == '.')) ++end;
  if (end < text.size() && text[end] == '_') return at;
  while (end > at && !is_alnum(text[end - 1])) --end;
  const std::string name = lower_case(text.substr(at, end - at));
  const std::size_t dot = name.rfind('.');
  const bool is_host = dot != nowhere && name != "threading.local" &&
                       std::find(domains.begin(), domains.end(), name.substr(dot + 1)) != domains.end();
  return is_host ? end : at;
}

/// True for a file name with an ending such as ".py" or ".so.1". A word without an ending may be a user or a project.
bool is_file_name(std::string_view part) {
  const std::size_t dot = part.find('.', 1);
  return dot != nowhere && dot + 1 < part.size();
}

/// True for a path from a root: "/x", "~/x", "~ann/x", "C:\\x", "\\\\server\\x", "file:///x".
bool is_rooted(std::string_view word) {
  if (word.size() < 2) return false;
  const bool drive = is_letter(word[0]) && word[1] == ':' && word.size() > 2 && (word[2] == '\\' || word[2] == '/');
  return word[0] == '/' || word.starts_with("\\\\") || drive || word.starts_with("file:/") ||
         (word[0] == '~' && word.find('/') != nowhere);
}

/// Returns the end of a path that starts at `at` and whose first word ends at `end`. The path may have spaces if one of
/// the next words continues it ("/home/ann lee/x.py").
std::size_t end_of_path(std::string_view text, std::size_t at, std::size_t end) {
  constexpr int max_words = 4;
  if (!is_rooted(text.substr(at, end - at))) return end;
  std::size_t found = end;
  for (int words = 0; words < max_words && end + 1 < text.size() && text[end] == ' ' && text[end - 1] != ':'; ++words) {
    const std::size_t next = end + 1;
    end = std::min(text.find_first_of(word_ends, next), text.size());
    const std::string_view one = text.substr(next, end - next);
    if (one.empty() || is_rooted(one) || one.find_first_of("=@") != nowhere) break;
    if (one.find_first_of("/\\") != nowhere) found = end;
  }
  return found;
}

/// True for a rate or a ratio, such as "GB/s", "tokens/step" or "3/4".
bool is_ratio(std::string_view word) {
  constexpr std::array<std::string_view, 13> units = {"s",    "ms",        "us",     "ns",      "min", "h",   "step",
                                                      "iter", "iteration", "sample", "samples", "GPU", "rank"};
  const std::size_t slash = word.find('/');
  if (slash == nowhere || slash == 0 || word.find('/', slash + 1) != nowhere) return false;
  std::string_view after = word.substr(slash + 1);
  while (!after.empty() && std::string_view(".:]}").find(after.back()) != nowhere) after.remove_suffix(1);
  constexpr std::size_t max_digits = 20;
  return std::find(units.begin(), units.end(), after) != units.end() ||
         (is_number(word.substr(0, slash), max_digits) && is_number(after, max_digits));
}

/// True if a word after the first is an absolute path. Then the text is a sentence.
bool has_path_within(std::string_view text) {
  for (std::size_t at = text.find(' '); at != nowhere; at = text.find(' ', at + 1))
    if (is_rooted(text.substr(at + 1, 3)) || text.substr(at + 1).starts_with("file:/")) return true;
  return false;
}

bool is_path(std::string_view word) {
  return word.find_first_of("/\\") != nowhere && word.size() > 1 && !is_ratio(word);
}

/// True if a word in a name of code is a path. A single slash may be a division, so a path starts with a slash or has
/// several.
bool is_path_in_code(std::string_view word) {
  return is_path(word) && (std::string_view("/~.").find(word.front()) != nowhere || word.find('\\') != nowhere ||
                           is_rooted(word) || std::count(word.begin(), word.end(), '/') > 1);
}

/// Returns the start of the path inside a public Python package, or npos if the file is in no public package. The path
/// inside the package reveals nothing about the machine. Without it, an optimizer's memory could not be distinguished
/// from a module's.
std::size_t begin_of_public_package(std::string_view path) {
  constexpr std::string_view packages[] = {
      "torch", "torchvision",   "transformers", "accelerate", "lightning",         "timm",
      "peft",  "bitsandbytes",  "deepspeed",    "apex",       "pytorch_lightning", "cupy",
      "cupyx", "cupy_backends", "jax",          "jaxlib",     "jax_plugins",       "flax",
      "optax", "nvidia",        "numba",        "numba_cuda"};
  const slashed_path slashed(path);
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t found = slashed.text().rfind(folder);
    if (found == std::string_view::npos) continue;
    const std::string_view inside = slashed.text().substr(found + folder.size());
    const std::string_view package = inside.substr(0, inside.find('/'));
    if (inside.size() > package.size() &&
        std::find(std::begin(packages), std::end(packages), package) != std::end(packages))
      return found + 1;
  }
  return std::string_view::npos;
}

}  // namespace

redactor::redactor(redaction subject) : what_(subject) {}

const std::string& redactor::numbered(std::unordered_map<std::string, std::string>& names, std::string_view text,
                                      std::string_view word) {
  const auto [place, fresh] = names.try_emplace(std::string(text));
  if (fresh) place->second = std::string(word) + std::to_string(names.size());
  return place->second;
}

void redactor::learn_host(std::string_view name) {
  if (name.empty()) return;
  const std::string by = numbered(hosts_, name, "host");
  names_.add(name, by);
  // The name without its domain denotes the same machine.
  if (const std::size_t dot = name.find('.'); dot != nowhere && dot > 0 && end_of_address(name, 0) == 0)
    names_.add(name.substr(0, dot), by);
}

void redactor::learn_user(std::string_view name) {
  if (name.size() > 1 && name != "root") names_.add(name, numbered(users_, name, "user"));
}

void redactor::learn(std::string_view text) {
  if (!what_.hosts) return;
  const std::string plain = plain_form(text);
  learn_folders(plain);
  learn_variables(plain);
  learn_addresses(plain);
}

namespace {

std::string_view until(std::string_view rest, std::string_view marks) {
  rest = rest.substr(0, longest_name);
  return rest.substr(0, std::min(rest.find_first_of(marks), rest.size()));
}

/// Calls `use(rest of the text)` after each `word`, ignoring case.
template <class Use>
void for_each_after(std::string_view text, const std::string& lower, std::string_view word, Use&& use) {
  for (std::size_t at = lower.find(word); at != nowhere; at = lower.find(word, at + 1))
    use(at, text.substr(at + word.size()));
}

}  // namespace

/// Learns users from folders such as /home/NAME and ~NAME/.
void redactor::learn_folders(std::string_view text) {
  constexpr std::string_view word_of_path = "/\\ \t\n\r'\"`,;:()<>|", part_of_path = "/\\\t\n\r'\"`,;:()<>|";
  const std::string lower = lower_case(text);
  for (const std::string_view folder : {"/home/", "/users/", "\\users\\"}) {
    for_each_after(text, lower, folder, [&](std::size_t, std::string_view rest) {
      rest.remove_prefix(std::min(rest.find_first_not_of("/\\"), rest.size()));
      learn_user(until(rest, word_of_path));
      // The name may have spaces if the path continues after it.
      const std::string_view whole = until(rest, part_of_path);
      const bool goes_on = whole.size() < rest.size() && (rest[whole.size()] == '/' || rest[whole.size()] == '\\');
      if (goes_on && !whole.ends_with(' ') && std::count(whole.begin(), whole.end(), ' ') < 4) learn_user(whole);
    });
  }
  for_each_after(text, lower, "~", [&](std::size_t at, std::string_view rest) {
    const std::string_view name = until(rest, word_of_path);
    const bool begins = at == 0 || !is_alnum(text[at - 1]);
    if (begins && name.size() < rest.size() && rest[name.size()] == '/') learn_user(name);
  });
}

/// Learns users and hosts from environment variables.
void redactor::learn_variables(std::string_view text) {
  const std::string lower = lower_case(text);
  for (const std::string_view variable : {"user=", "logname=", "username=", "home=", "hostname=", "computername="}) {
    for_each_after(text, lower, variable, [&](std::size_t at, std::string_view rest) {
      if (at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '_')) return;
      if (!rest.empty() && quotes.find(rest[0]) != nowhere) rest.remove_prefix(1);
      rest = until(rest, " \t\n\r'\"`,;:()<>|");
      while (rest.ends_with('/') || rest.ends_with('\\')) rest.remove_suffix(1);
      const std::string_view name = rest.substr(rest.find_last_of("/\\") + 1);
      variable == "hostname=" || variable == "computername=" ? learn_host(name) : learn_user(name);
    });
  }
}

/// Learns the hosts of URLs and of user@host if they look like host names and not like words.
void redactor::learn_addresses(std::string_view text) {
  static_cast<void>(without_secrets(text, false, [&](verdict::kind kind, std::string_view found) {
    if (kind != verdict::kind::address) return std::string();
    const std::size_t scheme = found.find("://");
    if (scheme != nowhere) found.remove_prefix(scheme + 3);
    found = found.substr(0, std::min(found.find('/'), found.size()));
    found.remove_prefix(found.rfind('@') == nowhere ? 0 : found.rfind('@') + 1);
    const std::string_view host = until(found, ":/?#[]");
    const bool looks_so =
        host.find_first_of("-.0123456789") != nowhere && std::any_of(host.begin(), host.end(), is_letter);
    if (looks_so) names_.add(host, numbered(hosts_, host, "host"));
    return std::string();
  }));
}

std::string redactor::without_addresses(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = end_of_address(text, at);
    if (end == at) end = end_of_hardware_address(text, at);
    if (end == at) end = end_of_host_name(text, at);
    if (end > at) {
      line += numbered(hosts_, text.substr(at, end - at), "host");
      at = end;
    } else {
      line += text[at++];
    }
  }
  return line;
}

std::string redactor::path(std::string_view text) {
  if (const std::size_t package = begin_of_public_package(text); package != std::string_view::npos)
    return numbered(directories_, text.substr(0, package - 1), "dir") + "/" + std::string(text.substr(package));
  const std::size_t slash = text.find_last_of("/\\");
  if (slash == std::string_view::npos) return std::string(text);
  return numbered(directories_, text.substr(0, slash), "dir") + "/" + std::string(text.substr(slash + 1));
}

/// Redacts a text that is a path as a whole. Its last part is a file name, even without an ending.
std::string redactor::path_as_a_whole(std::string_view text) {
  const std::string shown = without_credentials(text, false);
  if (!what_.paths || shown.find_first_of("/\\") == nowhere || has_path_within(shown)) return words(shown, false);
  const std::string line = path(shown);
  const std::size_t slash = line.find('/');
  return line.substr(0, slash + 1) +
         (begin_of_public_package(shown) == nowhere ? words(line.substr(slash + 1), false) : line.substr(slash + 1));
}

/// Redacts a command line. Keeps the program's name, and redacts its path like other paths.
std::string redactor::arguments(std::string_view text) {
  std::size_t end = std::min(text.find_first_of(spaces), text.size());
  if (!text.empty() && quotes.find(text[0]) != nowhere) end = std::min(text.find(text[0], 1), text.size());
  std::string kept = path_as_a_whole(text.substr(0, end));
  if (text.find_first_of(spaces, end) != nowhere) kept.append(" ").append(left_out);
  return kept;
}

/// Redacts a path in a message. A last part without an ending may not be a file, so it is treated as a directory.
std::string redactor::path_in_message(std::string_view text) {
  const std::string_view last = text.substr(text.find_last_of("/\\") + 1);
  if (last.empty() || is_file_name(last)) return path(text);
  return path(text.substr(0, text.size() - last.size())) + numbered(entries_, last, "name");
}

/// Redacts one word of a message that is not NAME=value.
std::string redactor::word(std::string_view text, bool code) {
  if (what_.hosts && !code && text.size() > 2 && text[0] == '~' && is_letter(text[1]) &&
      std::all_of(text.begin() + 1, text.end(), is_of_name))
    return "~" + numbered(users_, text.substr(1), "user");
  const bool takes = what_.paths && (code ? is_path_in_code(text) : is_path(text));
  const std::string kept = takes ? path_in_message(text) : std::string(text);
  return what_.hosts ? without_addresses(kept) : kept;
}

std::string redactor::without_credentials(std::string_view text, bool code) {
  return without_secrets(text, code, [&](verdict::kind kind, std::string_view found) {
    if (kind == verdict::kind::secret) return std::string(what_.environment ? left_out : found);
    return what_.hosts || what_.paths ? numbered(addresses_, found, "address") : std::string(found);
  });
}

/// Adds the path in the quotes that start at `at`, which may have spaces. Returns its end, or `at` if there is none.
std::size_t redactor::add_quoted_path(std::string& to, std::string_view text, std::size_t at, bool code) {
  if (!what_.paths || quotes.find(text[at]) == nowhere) return at;
  const std::size_t close = text.find(text[at], at + 1);
  if (close == nowhere) return at;
  const std::string_view found = text.substr(at + 1, close - at - 1);
  if (!is_path(found) || found.find('=') != nowhere) return at;
  to.append(1, text[at]).append(word(found, code)).append(1, text[at]);
  return close + 1;
}

/// Redacts the paths, values and addresses among the words of a text. In code, keeps NAME=value, which may be a
/// template argument.
std::string redactor::words(std::string_view text, bool code) {
  std::string line;
  bool is_value = false;  // True if the previous word was an option.
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t end = is_value ? at : add_quoted_path(line, text, at, code); end != at) {
      at = end;
      continue;
    }
    std::size_t end = std::min(text.find_first_of(word_ends, at), text.size());
    if (what_.paths && !is_value) end = end_of_path(text, at, end);
    const std::string_view one = text.substr(at, end - at);
    std::size_t value = what_.environment && !code ? get_value(one) : nowhere;
    if (value != nowhere && (at + value == text.size() || spaces.find(text[at + value]) != nowhere)) value = nowhere;
    if (value != nowhere) {
      line.append(one.substr(0, value)).append(left_out);
      end = end_of_left_out(text, at + value);
      is_value = false;
    } else if (is_value && spaces.find(text[at]) == nowhere && text[at] != '-') {
      line += left_out;
      end = std::max(end_of_left_out(text, at), at + 1);
      is_value = false;
    } else {
      const char next = end < text.size() ? text[end] : '\0';
      // An end tag such as "</name>".
      const bool is_end_tag = at > 0 && text[at - 1] == '<' && next == '>' && one.rfind('/') == 0;
      const bool is_destructor = one.starts_with('~') && next == '(';
      line += is_end_tag || is_destructor ? std::string(one) : word(one, code);
      if (end < text.size()) line += text[end++];
      // This is "--name value", not a dash in a sentence.
      if (!one.empty()) is_value = what_.environment && !code && one.size() > 2 && one.starts_with("--") && next == ' ';
    }
    at = end;
  }
  return line;
}

std::string redactor::redacted(std::string_view text, text_role role) {
  switch (role) {
    case text_role::code:
      return words(without_credentials(text, true), true);
    case text_role::path:
      return path_as_a_whole(text);
    case text_role::arguments:
      if (what_.arguments) return arguments(text);
      break;
    case text_role::plain:
    case text_role::message:
    case text_role::host:
    case text_role::source:
      break;
  }
  return words(without_credentials(text, false), false);
}

std::string_view redactor::text(std::string_view text, text_role role) {
  if (!what_.any() || text.empty()) return text;
  if (role == text_role::source) return what_.sources ? left_out : text;
  if (role == text_role::host) {
    learn_host(what_.hosts ? text : std::string_view());
    return what_.hosts ? std::string_view(numbered(hosts_, text, "host")) : text;
  }
  auto& known = known_[static_cast<std::size_t>(role)];
  if (const auto found = known.find(std::string(text)); found != known.end()) return found->second;
  const std::string plain = plain_form(text);
  std::string line = redacted(plain, role);
  if (what_.hosts) line = names_.replaced_in(line);
  if (line == plain) line = text;  // Without a match, the text stays as it was written.
  if (known_bytes_ > max_kept_bytes) {
    for (auto& each : known_) each.clear();
    known_bytes_ = 0;
  }
  known_bytes_ += text.size() + line.size();
  return known.emplace(text, std::move(line)).first->second;
}

}  // namespace sluice::exports
