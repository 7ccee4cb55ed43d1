#include "core/remote/ssh_address.hpp"

#include <algorithm>
#include <charconv>

namespace sluice::remote {
namespace {

/// True if `text` consists of letters, digits and the characters in `also`, and does not start with a dash. User and
/// host names are checked with it.
bool is_name(std::string_view text, std::string_view also) {
  const auto allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || also.find(c) != also.npos;
  };
  return !text.empty() && text.size() <= 255 && text.front() != '-' && std::all_of(text.begin(), text.end(), allowed);
}

int to_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Replaces each %XX by its byte. Returns false if a percent sign is not followed by two hexadecimal digits.
bool decode_percents(std::string_view text, std::string& into) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      into += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? to_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? to_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    into += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

result<ssh_address> parse_ssh_address(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return fail(error_code::invalid_argument, why, std::string(text), "expected ssh://[USER@]HOST[:PORT]/PATH");
  };
  ssh_address address;
  std::string_view rest = text;
  if (!rest.starts_with(ssh_scheme)) return wrong("is not an address of a recording");
  rest.remove_prefix(ssh_scheme.size());
  const std::size_t slash = rest.find('/');
  if (slash == rest.npos) return wrong("does not name a file");
  std::string_view server = rest.substr(0, slash);
  if (const std::size_t at = server.find('@'); at != server.npos) {
    address.user = server.substr(0, at);
    server.remove_prefix(at + 1);
    if (!is_name(address.user, "-._")) return wrong("the user name is invalid");
  }
  const std::size_t bracket = server.starts_with('[') ? server.find(']') : server.npos;
  const std::size_t colon = server.find(':', bracket == server.npos ? 0 : bracket);
  if (colon != server.npos) {
    address.port = server.substr(colon + 1);
    server = server.substr(0, colon);
    unsigned number = 0;
    const auto [end, bad] = std::from_chars(address.port.data(), address.port.data() + address.port.size(), number);
    if (bad != std::errc() || end != address.port.data() + address.port.size() || number == 0 || number > 65'535)
      return wrong("the port is invalid");
  }
  if (bracket != server.npos) {
    if (bracket + 1 != server.size()) return wrong("the host is invalid");
    address.host = server.substr(1, bracket - 1);
    if (!is_name(address.host, ":.")) return wrong("the host is invalid");
  } else {
    address.host = server;
    if (!is_name(address.host, "-._")) return wrong("the host is invalid");
  }
  if (!decode_percents(rest.substr(slash), address.path)) return wrong("a percent sign is not followed by two digits");
  if (address.path.find_first_of(std::string_view("\0\n\r", 3)) != address.path.npos)
    return wrong("the path is invalid");
  if (address.path.starts_with("/~/")) address.path = "./" + address.path.substr(3);
  if (address.path == "/" || address.path == "./") return wrong("does not name a file");
  return address;
}

std::vector<std::string> ssh_words(const ssh_address& to, const std::string& program) {
  std::vector<std::string> words{"ssh", "-T", "-e", "none"};
  if (!to.port.empty()) words.insert(words.end(), {"-p", to.port});
  if (!to.user.empty()) words.insert(words.end(), {"-l", to.user});
  words.insert(words.end(), {"--", to.host, quoted(program) + " serve --stdio " + quoted(to.path)});
  return words;
}

}  // namespace sluice::remote
