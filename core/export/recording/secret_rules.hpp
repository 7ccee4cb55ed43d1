#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

/// Finds credentials and addresses in arbitrary texts.
namespace sluice::exports {

/// Whether the value after a name is a secret, as the name suggests.
enum class secrecy : unsigned char {
  none,
  name,    ///< "key", "token", "user": numbers ("tokens=128") and types ("key: Tensor") are not secrets.
  secret,  ///< "password": any value is a secret.
  line     ///< "Authorization": the rest of the line is a secret.
};

/// A name in a text: a run of letters, digits, "_", "-" and ".". Every rule is applied to every name.
struct spot {
  std::string_view text;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool code = false;  ///< The text is the name of a function or a kernel: "a::key=" and "std::pair<key>" are code.
  secrecy secret = secrecy::none;
  [[nodiscard]] std::string_view name() const { return text.substr(begin, end - begin); }
};

/// What a rule found at a name.
struct verdict {
  enum class kind : unsigned char { nothing, secret, address };
  kind is = kind::nothing;
  std::size_t from = 0;  ///< The start of the text to replace, at or after the start of the name.
  std::size_t to = 0;    ///< The end of the text to replace. If `is` is `nothing`, the rule finds nothing at names
                         ///< before this position, either.
};

struct secret_rule {
  std::string_view about;
  std::string_view example;  ///< Contains "SECRET", which the rule must find.
  verdict (*look)(const spot& at);
};

/// Returns the rules in the order in which they are applied; only the first match counts. Each rule checks a bounded
/// part of the text per name, or no part twice, so that all rules together take O(length of the text).
[[nodiscard]] std::span<const secret_rule> secret_rules();

/// Calls `replace` for each secret and each address (a URL or user@host) in `text`. Returns the text with these
/// replaced by the results of `replace`.
[[nodiscard]] std::string without_secrets(
    std::string_view text, bool code,
    const std::function<std::string(verdict::kind what, std::string_view found)>& replace);

/// Returns the end of the value that starts at `at`: its closing quote, or the end of its word without punctuation. If
/// the value is itself a name that is followed by a value, as in "token: password: x", returns the end of the latter.
[[nodiscard]] std::size_t end_of_value(std::string_view text, std::size_t at);

/// True for an integer, a fraction, or a count with a unit ("128", "0.5", "1e-4", "128k") that has at most `digits`
/// digits before the decimal point.
[[nodiscard]] bool is_number(std::string_view text, std::size_t digits);

}  // namespace sluice::exports
