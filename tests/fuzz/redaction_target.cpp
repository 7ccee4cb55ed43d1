// Redacts texts as --redact does: a password must be removed, whatever text precedes it.
#include <string>

#include "core/export/recording/plain_form.hpp"
#include "core/export/recording/redact.hpp"
#include "core/export/recording/secret_rules.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::redaction {
namespace {

void run(std::span<const std::uint8_t> input) {
  using exports::text_role;
  const std::string text(input.begin(), input.end()), secret = "sikritsikrit";
  const std::string plain = exports::plain_form(text);
  if (exports::plain_form(plain) != plain) __builtin_trap();
  exports::redactor redact(exports::redaction::all());
  redact.learn(text);
  for (const text_role role : {text_role::plain, text_role::code, text_role::path, text_role::arguments}) {
    const std::string once(redact.text(text, role));
    if (redact.text(text, role) != once) __builtin_trap();
    const std::string_view with_secret = redact.text(text + "\npassword: " + secret, role);
    if (text.find(secret) == std::string::npos && with_secret.find(secret) != std::string_view::npos) __builtin_trap();
  }
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  for (const exports::secret_rule& each : exports::secret_rules())
    items.emplace_back(each.example.begin(), each.example.end());
  for (const std::string_view text :
       {"open '/home/ann lee/x.py' and C:\\Users\\ann\\y.txt", "USER=ann on ann@box at 10.0.0.1 and fe80::1, [::1]:80",
        "%252Fhome%2Fann \\u002f &#47; \uff0f\uff41", "std::pair<int, key> a::key=4 token=12 KEY=\"a b\" --key value"})
    items.emplace_back(text.begin(), text.end());
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::redaction

sluice::fuzz::target sluice::fuzz::redaction_target() { return {"redaction", redaction::run, redaction::seeds}; }
