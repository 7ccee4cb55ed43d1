#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

/// Finds credentials and addresses in texts that anybody may have written.
namespace sluice::exports {

/// How secret the value is that follows a name.
enum class secrecy : unsigned char {
  none,
  name,  ///< "key", "token", "user": numbers may follow that are no secrets ("tokens=128"), and types ("key: Tensor").
  secret,  ///< "password": whatever follows is one.
  line     ///< "Authorization": so is the rest of the line.
};

/// A name in a text: a run of letters, digits, "_", "-" and ".". Each rule looks at each.
struct spot {
  std::string_view text;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool code = false;  ///< The text names a function or a kernel: "a::key=" and "std::pair<key>" are of a language.
  secrecy secret = secrecy::none;
  [[nodiscard]] std::string_view name() const { return text.substr(begin, end - begin); }
};

/// What a rule says of a name.
struct verdict {
  enum class kind : unsigned char { nothing, secret, address };
  kind is = kind::nothing;
  std::size_t from = 0;  ///< What is to be replaced, after the begin of the name.
  std::size_t to = 0;    ///< If nothing: the rule has looked that far, and need not be asked of names before.
};

struct secret_rule {
  std::string_view about;
  std::string_view example;  ///< What it finds; "SECRET" must go.
  verdict (*look)(const spot& at);
};

/// In the order in which they are asked: the first that finds something counts. Each looks at a bounded part of the
/// text, or at no part twice, so that all take O(length of the text).
[[nodiscard]] std::span<const secret_rule> secret_rules();

/// Calls `replace(kind, text)` for each secret and each address (a URL, user@host) in `text`, and returns the text with
/// what that returns in their place.
[[nodiscard]] std::string without_secrets(
    std::string_view text, bool code,
    const std::function<std::string(verdict::kind what, std::string_view found)>& replace);

/// Where the value ends that begins at `at`: at its closing quote, else with its word, without punctuation. A value that
/// is a name itself goes on with its own: "token: password: x".
[[nodiscard]] std::size_t end_of_value(std::string_view text, std::size_t at);

/// True for a whole number, a fraction or a count with a unit ("128", "0.5", "1e-4", "128k") with at most `digits`
/// digits before the point.
[[nodiscard]] bool is_number(std::string_view text, std::size_t digits);

}  // namespace sluice::exports
