#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

/// Finds credentials and addresses in arbitrary texts.
namespace sluice::exports {

/// What a name suggests about the value after it: whether the value is a secret.
enum class secrecy : unsigned char {
  none,
  name,    ///< As after "key", "token" or "user". Numbers ("tokens=128") and types ("key: Tensor") are not secrets.
  secret,  ///< As after "password". Any value is a secret.
  line     ///< As after "Authorization". The rest of the line is a secret.
};

/// A name in a text: a run of letters, digits, "_", "-" and ".". Every rule is applied to every name.
struct spot {
  std::string_view text;
  std::size_t begin = 0;
  std::size_t end = 0;
  /// True if the text is the name of a function or a kernel, in which "a::key=" and "std::pair<key>" are code.
  bool code = false;
  secrecy secret = secrecy::none;
  [[nodiscard]] std::string_view name() const { return text.substr(begin, end - begin); }
};

/// What a rule found at a name.
struct verdict {
  enum class kind : unsigned char { nothing, secret, address };
  kind found = kind::nothing;
  std::size_t from = 0;  ///< The start of the text to replace, at or after the start of the name.
  std::size_t to = 0;    ///< The end of the text to replace. If `is` is `nothing`, the rule finds nothing at names
                         ///< before this position, either.
};

struct secret_rule {
  std::string_view about;
  std::string_view example;  ///< A text with "SECRET", which the rule must find.
  verdict (*look)(const spot& at);
};

/// Returns the rules in the order in which they are applied. Only the first match counts. Each rule checks a bounded
/// part of the text per name, or checks no part of the text twice. All rules together thus take O(length of the text).
[[nodiscard]] std::span<const secret_rule> secret_rules();

/// Calls `replace` for each secret and each address (a URL or user@host) in `text`. Returns the text in which the
/// results of `replace` replace these.
[[nodiscard]] std::string without_secrets(
    std::string_view text, bool code,
    const std::function<std::string(verdict::kind kind, std::string_view found)>& replace);

/// Returns the end of the value that starts at `at`. This is its closing quote, or the end of its word without
/// punctuation. If the value is itself a name before another value, as in "token: password: x", returns the end of the
/// other value.
[[nodiscard]] std::size_t end_of_value(std::string_view text, std::size_t at);

/// True for an integer, a fraction, or a count with a unit ("128", "0.5", "1e-4", "128k") that has at most `digits`
/// digits before the decimal point.
[[nodiscard]] bool is_number(std::string_view text, std::size_t digits);

}  // namespace sluice::exports
