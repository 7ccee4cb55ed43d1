#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/query/elsewhere/answerer.hpp"
#include "core/remote/ssh_address.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/reader.hpp"

/// Recordings that are opened by an address instead of a path.
namespace sluice::remote {

/// Begins the address of a recording that is being written: then comes the path of its socket.
inline constexpr std::string_view live_scheme = "live:";

[[nodiscard]] inline bool is_live_address(std::string_view name) { return name.starts_with(live_scheme); }
/// True if `name` is not the path of a file but for `open_address`.
[[nodiscard]] inline bool is_address(std::string_view name) {
  return is_live_address(name) || name.starts_with(ssh_scheme);
}

struct opened_address {
  std::shared_ptr<trace::file> file;
  std::string title;                           ///< The recording's file name at its owner. Not trusted.
  std::shared_ptr<trace::byte_source> source;  ///< Where all bytes of the recording can be read; null: elsewhere only.
  std::shared_ptr<query::answerer> answerer;   ///< Who answers questions if `file` is without rows; otherwise null.
};

/// Opens a recording by its address. Of ssh://, ssh and the program "sluice" over there must be in PATH; another one can
/// be named in the variable SLUICE_REMOTE_PROGRAM. Errors: those of `follow_live` and `trace::file::open`, of
/// `parse_ssh_address`, `connection::to_program` and `answers_of`; cancelled.
[[nodiscard]] result<opened_address> open_address(const std::string& address, const trace::reader_options& options,
                                                  const std::function<bool()>& cancelled);

}  // namespace sluice::remote
