#include "core/export/recording/secret_rules.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "core/base/lower_case.hpp"
#include "core/export/recording/characters.hpp"

namespace sluice::exports {
namespace {

/// The most spaces between a name and its sign, and between the sign and the value.
constexpr int max_spaces = 16;

template <std::size_t Count>
bool is_among(const std::array<std::string_view, Count>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <std::size_t Count>
bool ends_with_any(std::string_view text, const std::array<std::string_view, Count>& ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return text.ends_with(end); });
}

constexpr verdict nothing{};
verdict secret(std::size_t begin, std::size_t to) {
  return begin < to ? verdict{verdict::kind::secret, begin, to} : nothing;
}
verdict address(std::size_t begin, std::size_t to) { return {verdict::kind::address, begin, to}; }
verdict nothing_before(std::size_t to) { return {verdict::kind::nothing, to, to}; }

// --- pieces of text -------------------------------------------------------------------------------------------------

std::size_t end_of_name(std::string_view text, std::size_t at) {
  while (at < text.size() && is_of_name(text[at])) ++at;
  return at;
}

std::size_t find_first(std::string_view text, std::string_view marks, std::size_t at) {
  return std::min(text.find_first_of(marks, at), text.size());
}

/// True for "%20" and the other encoded characters that `plain_form` leaves.
bool encoded_character_at(std::string_view text, std::size_t at) {
  return text[at] == '%' && at + 2 < text.size() && is_hexadecimal(text[at + 1]) && is_hexadecimal(text[at + 2]);
}

/// Returns the position after the spaces at `at`, some of which may be percent-encoded.
std::size_t after_spaces(std::string_view text, std::size_t at) {
  for (int count = 0; count < max_spaces && at < text.size(); ++count) {
    if (is_one_of(text[at], spaces))
      ++at;
    else if (text.substr(at, 3) == "%20" || text.substr(at, 3) == "%09")
      at += 3;
    else
      break;
  }
  return at;
}

/// Returns the end of a text without the punctuation before `end`.
std::size_t without_punctuation(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin && is_one_of(text[end - 1], ",;.)]}>'\"`")) --end;
  return end;
}

/// Returns the end of a quoted text that starts with the quote at `at`. A quote after a backslash does not end the
/// text.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  for (std::size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] == '\\')
      ++end;
    else if (text[end] == text[at])
      return end + 1;
  }
  return text.size();
}

char before(const spot& at) { return at.begin == 0 ? '\0' : at.text[at.begin - 1]; }

/// True where a word of a command line may start.
bool begins_word(const spot& at) { return at.begin == 0 || is_one_of(before(at), " \t\n\r'\"`[(="); }

// --- names of secrets -----------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> line_words = {"authorization", "cookie", "cookies", "passphrase",
                                                        "setcookie"};
constexpr std::array<std::string_view, 17> secret_words = {
    "password", "passwords",  "passwd",      "passwort", "passcode",    "pwd",       "pw",       "secret",    "secrets",
    "apikey",   "credential", "credentials", "bearer",   "accesstoken", "authtoken", "apitoken", "privatekey"};
constexpr std::array<std::string_view, 15> name_words = {"key",      "keys",     "token",    "tokens",  "user",
                                                         "username", "login",    "logname",  "account", "email",
                                                         "auth",     "hostname", "nodename", "otp",     "jwt"};
/// The endings of words that are joined without a separator, such as "dbpassword".
constexpr std::array<std::string_view, 9> ends_of_words = {"password",  "passwd",    "secret",    "token",  "apikey",
                                                           "accesskey", "secretkey", "sessionid", "authkey"};

/// Calls `use(part in lower case)` for each part of a name such as "X-Api-Key", "apiKey" or "AWS_SECRET_ACCESS_KEY".
template <class Use>
void for_each_part(std::string_view name, Use&& use) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= name.size(); ++at) {
    const bool ends = at == name.size() || !is_alnum(name[at]);
    const bool turns = !ends && at > begin && is_upper(name[at]) && is_lower(name[at - 1]);
    if (!ends && !turns) continue;
    if (at > begin) use(lower_case(name.substr(begin, at - begin)));
    begin = ends ? at + 1 : at;
  }
}

/// Returns how secret the value of a name is. Checks only the end of a very long name.
secrecy get_secrecy(std::string_view name) {
  constexpr std::size_t longest = 256;
  if (name.size() > longest) name = name.substr(name.size() - longest);
  secrecy found = secrecy::none, last = secrecy::none;
  for_each_part(name, [&](const std::string& part) {
    last = secrecy::none;
    if (is_among(line_words, part))
      last = secrecy::line;
    else if (is_among(name_words, part))
      last = secrecy::name;
    else if (is_among(secret_words, part) || ends_with_any(part, ends_of_words))
      last = secrecy::secret;
    // "password_of_db: x" is a secret, "key_padding_mask: x" and "pw_conv: x" are not.
    constexpr std::size_t surely = 6;
    if (last > secrecy::name && part.size() >= surely) found = std::max(found, last);
  });
  return std::max(found, last);
}

/// True for types and constants of languages, as in signatures: "key: Tensor", "password=None".
bool is_of_language(std::string_view value) {
  constexpr std::array<std::string_view, 26> words = {
      "none",     "null",  "nullptr", "true",   "false",    "str",  "int",    "float", "bool",
      "bytes",    "list",  "dict",    "tuple",  "set",      "any",  "tensor", "char",  "void",
      "optional", "union", "long",    "double", "unsigned", "half", "bf16",   "string"};
  std::string_view word = value.substr(0, std::min(value.find_first_of("<[(*&,)|"), value.size()));
  for (const std::string_view scope : {"torch.", "std::"})
    if (word.starts_with(scope)) word.remove_prefix(scope.size());
  return is_among(words, lower_case(word));
}

/// True if the value of a name like "token" may be shown. After a plural, the value is a count ("tokens=131072"). After
/// a singular, it must have at most five digits ("token=128").
bool may_stay(std::string_view name, std::string_view value) {
  return is_number(value, name.ends_with('s') || name.ends_with('S') ? 9 : 5) || is_of_language(value);
}

/// Returns the start of the value after a name and a sign, as in "name: x", "name = x", "'name': x" and "name => x".
/// Returns `nowhere` if no sign follows the name.
std::size_t begin_of_value(const spot& at) {
  const std::string_view text = at.text;
  std::size_t sign = at.end;
  if (sign < text.size() && is_one_of(text[sign], quotes)) ++sign;
  if (sign < text.size() && text[sign] == ']') ++sign;  // As in environ["NAME"] = x.
  sign = after_spaces(text, sign);
  if (sign >= text.size() || !is_one_of(text[sign], ":=")) return nowhere;
  std::size_t end = sign + 1;
  if (end < text.size() && is_one_of(text[end], text[sign] == ':' ? ":" : "=")) return nowhere;  // As in "::" and "==".
  if (end < text.size() && is_one_of(text[end], "=>")) ++end;                                    // As in ":=" and "=>".
  return after_spaces(text, end);
}

// --- rules ----------------------------------------------------------------------------------------------------------

/// Finds a private key in PEM form, up to its end.
verdict pem(const spot& at) {
  if (!at.name().starts_with("-----BEGIN")) return nothing;
  const std::size_t end = at.text.find("-----END", at.end);
  return secret(at.begin, end == nowhere ? at.text.size() : end);
}

/// Finds a URL, which may contain users, passwords, hosts and keys.
verdict url(const spot& at) {
  if (at.text.substr(at.end, 3) != "://" || at.name() == "file") return nothing;
  return address(at.begin, without_punctuation(at.text, at.end, find_first(at.text, " \t\n\r'\"`<>", at.end)));
}

/// Finds the rest of a header's line, or the rest of the quotes around the header.
verdict header(const spot& at) {
  if (at.secret != secrecy::line) return nothing;
  const std::size_t value = begin_of_value(at);
  if (value == nowhere) return nothing;
  if (value < at.text.size() && is_one_of(at.text[value], quotes)) return secret(value, end_of_quoted(at.text, value));
  const std::size_t end = find_first(at.text, "\n\r", value);
  if (!is_one_of(before(at), quotes)) return secret(value, end);
  return secret(value, std::min(at.text.find(before(at), value), end));
}

/// Finds the value of a name that means a secret.
verdict assignment(const spot& at) {
  const secrecy options = at.secret;
  if (options == secrecy::none) return nothing;
  std::size_t value = begin_of_value(at);
  // The value may also be in "password is x".
  if (value == nowhere && options == secrecy::secret && at.text.substr(at.end, 4) == " is ") value = at.end + 4;
  if (value == nowhere) return nothing;
  const std::size_t end = end_of_value(at.text, value);
  if (options == secrecy::name) {
    // These are names in code, such as "a::key=" and "[with Key = x]".
    const bool parameter = is_upper(at.name()[0]) && std::all_of(at.name().begin() + 1, at.name().end(), is_lower);
    const bool of_language = at.code && (before(at) == ':' || (parameter && at.text[at.end] == ' '));
    if (of_language || may_stay(at.name(), at.text.substr(value, end - value))) return nothing;
  } else if (is_of_language(at.text.substr(value, end - value))) {
    return nothing;
  }
  return secret(value, end);
}

/// Finds the text of an element, as in <password>x</password>.
verdict element(const spot& at) {
  if (before(at) != '<' || at.text.substr(at.end, 1) != ">" || at.secret == secrecy::none) return nothing;
  const std::size_t end = at.text.find('<', at.end);
  return end != nowhere && at.text.substr(end, 2) == "</" ? secret(at.end + 1, end) : nothing;
}

/// Finds "-pX" and "-p X", as in mysql and sshpass. Numbers are ports, and some compiler options start in the same way.
verdict short_option(const spot& at) {
  const std::string_view name = at.name();
  if (!begins_word(at) || (!name.starts_with("-p") && !name.starts_with("-P"))) return nothing;
  constexpr std::array<std::string_view, 6> of_compilers = {"-pthread", "-pipe", "-pedantic", "-pg", "-pie", "-print"};
  if (std::any_of(of_compilers.begin(), of_compilers.end(), [&](auto each) { return name.starts_with(each); }))
    return nothing;
  std::size_t value = at.begin + 2;
  if (at.text.substr(value, 1) == " ") ++value;
  const std::size_t end = end_of_value(at.text, value);
  const std::string_view found = at.text.substr(value, end - value);
  constexpr std::size_t digits_of_port = 5;
  if (found.empty() || is_one_of(found[0], "-/~.=") || is_number(found, digits_of_port)) return nothing;
  return secret(value, end);
}

/// Finds "-u X:Y", as in curl.
verdict user_option(const spot& at) {
  if (!begins_word(at) || (at.name() != "-u" && at.name() != "-U") || at.text.substr(at.end, 1) != " ") return nothing;
  const std::size_t value = at.end + 1, end = end_of_value(at.text, value);
  return at.text.substr(value, end - value).find(':') == nowhere ? nothing : secret(value, end);
}

/// Finds the word after an option whose name means a secret: "--api-key X", "-password X".
verdict long_option(const spot& at) {
  if (!begins_word(at) || !at.name().starts_with('-') || at.text.substr(at.end, 1) != " ") return nothing;
  if (at.secret == secrecy::none) return nothing;
  const std::size_t value = after_spaces(at.text, at.end), end = end_of_value(at.text, value);
  const std::string_view found = at.text.substr(value, end - value);
  if (found.starts_with('-') || (at.secret == secrecy::name && may_stay(at.name(), found))) return nothing;
  return secret(value, end);
}

/// Finds "login X password Y", as in .netrc.
verdict netrc(const spot& at) {
  if (at.name() != "login" || at.text.substr(at.end, 1) != " ") return nothing;
  const std::size_t user = at.end + 1, next = find_first(at.text, spaces, user) + 1;
  constexpr std::string_view word = "password ";
  if (at.text.substr(std::min(next, at.text.size()), word.size()) != word) return nothing;
  return secret(user, end_of_value(at.text, next + word.size()));
}

/// Finds the word after "Bearer".
verdict bearer(const spot& at) {
  if (lower_case(at.name().substr(0, 7)) != "bearer" || at.name().size() != 6) return nothing;
  const std::size_t value = after_spaces(at.text, at.end);
  return value == at.end ? nothing : secret(value, end_of_value(at.text, value));
}

bool is_of_base64(char c) { return is_alnum(c) || is_one_of(c, "+/-_"); }

/// Decodes Base64 with either alphabet. Returns nullopt if the result has a byte other than readable ASCII.
std::optional<std::string> from_base64(std::string_view text) {
  std::string line;
  std::uint32_t bits = 0, held = 0;
  for (const char c : text) {
    const int six = is_upper(c)          ? c - 'A'
                    : is_lower(c)        ? c - 'a' + 26
                    : is_digit(c)        ? c - '0' + 52
                    : is_one_of(c, "+-") ? 62
                                         : 63;
    held = (held << 6U | static_cast<std::uint32_t>(six)) & 0xfffU;
    if (bits += 6; bits < 8) continue;
    bits -= 8;
    const auto byte = static_cast<unsigned char>(held >> bits);
    if ((byte < ' ' && !is_one_of(static_cast<char>(byte), "\t\n\r")) || byte > '~') return std::nullopt;
    line += static_cast<char>(byte);
  }
  return line;
}

std::size_t end_of_base64(std::string_view text, std::size_t at) {
  while (at < text.size() && is_of_base64(text[at])) ++at;
  return at;
}

/// Finds "user:password" in Base64 after "Basic".
verdict basic(const spot& at) {
  if (at.name().size() != 5 || lower_case(at.name()) != "basic") return nothing;
  const std::size_t value = after_spaces(at.text, at.end), end = end_of_base64(at.text, value);
  const auto found = from_base64(at.text.substr(value, end - value));
  return value == at.end || !found || found->find(':') == std::string::npos
             ? nothing
             : secret(value, end_of_value(at.text, value));
}

/// Finds any readable text of at least twelve bytes in Base64. Ordinary names do not match, because most of their
/// letters would decode to bytes other than ASCII.
verdict encoded(const spot& at) {
  constexpr std::size_t shortest = 12;
  std::size_t end = end_of_base64(at.text, at.begin);
  const auto found = from_base64(at.text.substr(at.begin, end - at.begin));
  if (!found || found->size() < shortest) return nothing_before(end);
  while (end < at.text.size() && at.text[end] == '=') ++end;
  return secret(at.begin, end);
}

/// The prefix of secrets that services issue, followed by at least `length` letters, digits and characters of `also`.
struct shape {
  std::string_view prefix;
  std::size_t length;
  std::string_view also;
};
constexpr std::array shapes = {
    shape{"ghp_", 16, ""},        shape{"gho_", 16, ""},         shape{"ghu_", 16, ""},     shape{"ghs_", 16, ""},
    shape{"ghr_", 16, ""},        shape{"github_pat_", 16, "_"}, shape{"glpat-", 16, "_-"}, shape{"hf_", 16, ""},
    shape{"sk-", 16, "_-"},       shape{"sk_live_", 12, ""},     shape{"sk_test_", 12, ""}, shape{"rk_live_", 12, ""},
    shape{"nvapi-", 16, "_-"},    shape{"xoxb-", 10, "-"},       shape{"xoxp-", 10, "-"},   shape{"xoxa-", 10, "-"},
    shape{"xoxr-", 10, "-"},      shape{"xoxs-", 10, "-"},       shape{"AKIA", 16, ""},     shape{"ASIA", 16, ""},
    shape{"AIza", 30, "_-"},      shape{"ya29.", 16, "_-"},      shape{"npm_", 20, ""},     shape{"pypi-", 16, "_-"},
    shape{"dckr_pat_", 12, "_-"}, shape{"r8_", 20, ""},          shape{"glsa_", 16, "_"},   shape{"whsec_", 16, ""},
    shape{"eyJ", 12, "_-."}};

/// Finds a secret by its prefix, also within a name: "of-ghp_...".
verdict known_shape(const spot& at) {
  const std::string_view name = at.name();
  const std::size_t last_dot = name.rfind('.');
  for (std::size_t part = 0; part < name.size(); ++part) {
    if (part > 0 && is_alnum(name[part - 1])) continue;
    for (const shape& each : shapes) {
      const std::string_view rest = name.substr(part);
      if (!rest.starts_with(each.prefix)) continue;
      // A token of three parts has dots between them.
      if (each.prefix == "eyJ" && (last_dot == nowhere || last_dot < part)) continue;
      const auto is_of = [&](char c) { return is_alnum(c) || is_one_of(c, each.also); };
      const auto* const first = rest.begin() + each.prefix.size();
      const auto length = static_cast<std::size_t>(std::find_if_not(first, rest.end(), is_of) - first);
      if (length < each.length) continue;
      return secret(at.begin + part, at.begin + part + each.prefix.size() + length);
    }
  }
  return nothing;
}

/// True for texts after "@" in names of code, such as versions of symbols, the call table, an address or an index.
bool is_symbol_version(std::string_view text) {
  const std::string_view word = text.substr(0, find_first(text, " \t\n\r'\"`,;()<>|", 0));
  const std::size_t name = static_cast<std::size_t>(
      std::find_if_not(word.begin(), word.end(), [](char c) { return is_upper(c) || is_digit(c); }) - word.begin());
  const bool version =
      name > 0 && is_upper(word[0]) && name + 1 < word.size() && word[name] == '_' && is_digit(word[name + 1]);
  return version || word == "plt" || word.starts_with("got") || word.starts_with("0x") || word.starts_with('@') ||
         std::all_of(word.begin(), word.end(), is_digit);
}

/// Finds user@host, user:password@host and e-mail addresses.
verdict user_at_host(const spot& at) {
  constexpr std::string_view ends = " \t\n\r'\"`<>";
  const std::string_view text = at.text;
  const std::string_view next = text.substr(at.end, 2);
  std::size_t sign = at.end;
  if (next.starts_with(':') && next != "::") {
    sign = find_first(text, " \t\n\r'\"`<>@", at.end);
    if (text.substr(sign, 1) != "@") return nothing_before(sign);
  } else if (!next.starts_with('@')) {
    return nothing;
  }
  const std::string_view host = text.substr(sign + 1, find_first(text, ends, sign + 1) - sign - 1);
  const bool of_mathematics = at.name().size() == 1 && host.size() <= 3;  // As in "q@k.T".
  if (host.empty() || is_symbol_version(host) || before(at) == '?' || of_mathematics) return nothing_before(sign);
  std::size_t begin = at.begin;
  constexpr std::size_t longest = 64;
  while (begin > 0 && at.begin - begin < longest && is_one_of(text[begin - 1], "+%!#$*^~=")) --begin;
  return address(begin, without_punctuation(text, sign, find_first(text, " \t\n\r'\"`,;()<>|", sign)));
}

constexpr std::array rules = {
    secret_rule{"a private key in PEM form", "-----BEGIN RSA PRIVATE KEY-----SECRET-----END", pem},
    secret_rule{"a URL", "postgres://ann:SECRET@db/x", url},
    secret_rule{"a header with credentials: the rest of its line", "Authorization: Digest username=x, SECRET", header},
    secret_rule{"an element with a secret name", "<password>SECRET</password>", element},
    secret_rule{"a value of a secret name", "password: SECRET", assignment},
    secret_rule{"the value after -p", "mysql -pSECRET", short_option},
    secret_rule{"a user and password after -u", "curl -u ann:SECRET", user_option},
    secret_rule{"the value after an option with a secret name", "run --api-key SECRET", long_option},
    secret_rule{"a user and password of .netrc", "machine db login ann password SECRET", netrc},
    secret_rule{"the token after Bearer", "sent Bearer SECRET", bearer},
    secret_rule{"user@host and user:password@host", "ssh ann:SECRET@gpu-box", user_at_host},
    secret_rule{"a secret recognized by its first letters", "hf_SECRETSECRETSECRET", known_shape},
    secret_rule{"a user and password in Base64 after Basic", "Basic YTpTRUNSRVQ=", basic},
    secret_rule{"readable text in Base64", "has YW5uJ3MgU0VDUkVUcw==", encoded},
};

}  // namespace

std::span<const secret_rule> secret_rules() { return rules; }

bool is_number(std::string_view text, std::size_t digits) {
  const auto take_digits = [&] {
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto count = static_cast<std::size_t>(end - text.begin());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (const std::size_t whole = take_digits(); whole == 0 || whole > digits) return false;
  if (text.size() > 1 && text[0] == '.') {
    text.remove_prefix(1);
    if (take_digits() == 0) return false;
  }
  if (text.size() > 1 && is_one_of(text[0], "eE")) {
    text.remove_prefix(is_one_of(text[1], "+-") ? 2 : 1);
    constexpr std::size_t most = 3;
    const std::size_t exponent = take_digits();
    return text.empty() && exponent > 0 && exponent <= most;
  }
  return text.empty() || (text.size() == 1 && is_one_of(text[0], "kKMGTB%"));
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  while (true) {
    const bool quoted = at < text.size() && is_one_of(text[at], quotes);
    const std::size_t end = quoted ? end_of_quoted(text, at) : find_first(text, spaces, at);
    const bool names = (!quoted && end > at && is_one_of(text[end - 1], ":=")) ||
                       (quoted && end < text.size() && is_one_of(text[end], ":="));
    if (!names) return quoted ? end : without_punctuation(text, at, end);
    at = after_spaces(text, quoted ? end + 1 : end);
  }
}

std::string without_secrets(std::string_view text, bool code,
                            const std::function<std::string(verdict::kind kind, std::string_view found)>& replace) {
  std::string line;
  std::size_t kept = 0;
  std::array<std::size_t, rules.size()> looked{};
  for (std::size_t at = 0; at < text.size();) {
    if (!is_of_name(text[at])) {
      at += encoded_character_at(text, at) ? 3 : 1;
      continue;
    }
    const std::size_t end = end_of_name(text, at);
    const spot here{text, at, end, code, get_secrecy(text.substr(at, end - at))};
    verdict found;
    for (std::size_t i = 0; i < rules.size() && found.found == verdict::kind::nothing; ++i) {
      if (at < looked[i]) continue;
      found = rules[i].look(here);
      if (found.found == verdict::kind::nothing) looked[i] = found.to;
    }
    at = here.end;
    if (found.found == verdict::kind::nothing) continue;
    const std::size_t begin = std::max(found.from, kept);
    line.append(text.substr(kept, begin - kept)).append(replace(found.found, text.substr(begin, found.to - begin)));
    kept = at = found.to;
  }
  return line.append(text.substr(kept));
}

}  // namespace sluice::exports
