#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace sluice::remote {

inline constexpr std::string_view ssh_scheme = "ssh://";

/// What "ssh://[USER@]HOST[:PORT]/PATH" says. "/~/PATH" is a path in the user's home there; %XX is a byte of the path.
struct ssh_address {
  std::string user;  ///< Empty: ssh decides.
  std::string host;
  std::string port;  ///< Empty: ssh decides.
  std::string path;
};

/// Errors: invalid_argument. Names that ssh would take for options are refused.
[[nodiscard]] result<ssh_address> parse_ssh_address(std::string_view text);

/// The words that start ssh, which has `program` ("sluice") serve the recording over there. The shell over there gets
/// program and path in single quotes.
[[nodiscard]] std::vector<std::string> ssh_words(const ssh_address& to, const std::string& program);

}  // namespace sluice::remote
