#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace sluice::remote {

inline constexpr std::string_view ssh_scheme = "ssh://";

/// The parts of the address of a recording on another host, "ssh://[USER@]HOST[:PORT]/PATH". "/~/PATH" is a path in the
/// user's home folder on the other host. %XX in a path is the byte with that hexadecimal number.
struct ssh_address {
  std::string user;  ///< If empty, ssh decides.
  std::string host;
  std::string port;  ///< If empty, ssh decides.
  std::string path;
};

/// Parses an address. Refuses names that ssh would parse as options. Errors: invalid_argument.
[[nodiscard]] result<ssh_address> parse_ssh_address(std::string_view text);

/// Returns the command line of ssh that makes `program` ("sluice") on the other host serve the recording. The program
/// and the path are in single quotes for the remote shell.
[[nodiscard]] std::vector<std::string> ssh_words(const ssh_address& to, const std::string& program);

}  // namespace sluice::remote
