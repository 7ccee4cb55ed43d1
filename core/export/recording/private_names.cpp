#include "core/export/recording/private_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/lower_case.hpp"
#include "core/export/recording/characters.hpp"

namespace sluice::exports {
namespace {

/// Limits on the names that are searched, which keep the time proportional to the length of a text.
constexpr std::size_t max_parts = 16;
constexpr std::size_t max_bytes = 128;

/// Common names of accounts and machines. Without this list, kernels of a user named "test" would lose their names.
constexpr std::array<std::string_view, 45> nobody = {"root",      "user",    "users",  "admin",
                                                     "guest",     "nobody",  "ubuntu", "debian",
                                                     "centos",    "runner",  "jovyan", "vscode",
                                                     "ec2-user",  "work",    "worker", "workspace",
                                                     "public",    "shared",  "home",   "default",
                                                     "docker",    "python",  "cuda",   "gpu",
                                                     "test",      "tests",   "data",   "model",
                                                     "models",    "kernel",  "train",  "memory",
                                                     "stream",    "device",  "host",   "localhost",
                                                     "server",    "cluster", "node",   "master",
                                                     "container", "client",  "local",  "localhost.localdomain",
                                                     "anonymous"};

/// True for letters. Bytes of other scripts count as letters without case.
bool is_letter_of_any(char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; }
bool is_of_part(char c) { return is_letter_of_any(c) || is_digit(c); }

bool joins(char c) { return is_one_of(c, " .-_'"); }

/// True if a part of a name may start at `at`. It may start where no letter or digit comes before, where letters and
/// digits meet, and at the capital in "annLee".
bool is_begin_of_part(std::string_view text, std::size_t at) {
  if (!is_of_part(text[at])) return false;
  if (at == 0 || !is_of_part(text[at - 1])) return true;
  return is_digit(text[at]) != is_digit(text[at - 1]) || (is_upper(text[at]) && is_lower(text[at - 1]));
}

/// Returns the end of the part that starts at `at`, which is at most one byte beyond the longest name.
std::size_t end_of_part(std::string_view text, std::size_t at) {
  const std::size_t last = std::min(text.size(), at + max_bytes + 1);
  std::size_t end = at + 1;
  while (end < last && is_of_part(text[end]) && !is_begin_of_part(text, end)) ++end;
  return end;
}

std::string get_letters(std::string_view name) {
  std::string text;
  std::copy_if(name.begin(), name.end(), std::back_inserter(text), is_of_part);
  return lower_case(text);
}

}  // namespace

void private_names::add(std::string_view name, std::string by) {
  std::string lower = lower_case(name);
  if (name.size() > max_bytes || std::find(nobody.begin(), nobody.end(), lower) != nobody.end()) return;
  std::string letters = get_letters(name);
  if (std::none_of(letters.begin(), letters.end(), is_letter_of_any)) return;
  by_letters_.try_emplace(std::move(letters), entry{std::move(lower), std::move(by)});
}

private_names::match private_names::longest_at(std::string_view text, std::size_t begin) const {
  match best;
  std::string letters;
  // Whether there are separators between the parts, and whether a part is a single letter.
  bool apart = false, short_part = false;
  std::size_t at = begin;
  for (std::size_t parts = 0; parts < max_parts; ++parts) {
    const std::size_t end = end_of_part(text, at);
    if (end - begin > max_bytes) break;
    short_part |= end - at < 2 && is_letter_of_any(text[at]);
    letters += lower_case(text.substr(at, end - at));
    const auto take = [&](const std::string& key) {
      const auto found = by_letters_.find(key);
      if (found == by_letters_.end()) return false;
      // "an n" does not match the user "ann".
      const bool sure = !apart || lower_case(text.substr(begin, end - begin)) == found->second.name ||
                        (!short_part && key.size() > 4);
      if (sure) best = {end, &found->second};
      return sure;
    };
    // In "anns-laptop", "anns" matches the name "ann".
    if (!take(letters) && letters.ends_with('s')) take(letters.substr(0, letters.size() - 1));
    at = end;
    if (at < text.size() && joins(text[at])) {
      apart = true;
      ++at;
    }
    if (at >= text.size() || !is_begin_of_part(text, at)) break;
  }
  return best;
}

std::string private_names::replaced_in(std::string_view text) const {
  std::string line;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < text.size() && !by_letters_.empty();) {
    const match found = is_begin_of_part(text, at) ? longest_at(text, at) : match{};
    if (found.end == 0) {
      ++at;
      continue;
    }
    line.append(text.substr(kept, at - kept)).append(found.found->by);
    kept = at = found.end;
  }
  return line.append(text.substr(kept));
}

}  // namespace sluice::exports
