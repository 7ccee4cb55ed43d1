#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/query/remote/sql_host.hpp"
#include "core/remote/ssh_address.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/reader.hpp"

/// Opens recordings that are identified by an address instead of a path.
namespace sluice::remote {

/// The scheme of the addresses of recordings that are still being written. The path of the recorder's socket follows
/// it.
inline constexpr std::string_view live_scheme = "live:";

[[nodiscard]] inline bool is_live_address(std::string_view name) { return name.starts_with(live_scheme); }
/// True if `name` is an address for `open_address` instead of a file's path.
[[nodiscard]] inline bool is_address(std::string_view name) {
  return is_live_address(name) || name.starts_with(ssh_scheme);
}

/// A recording that was opened by its address.
struct opened_address {
  std::shared_ptr<trace::file> file;
  std::string title;  ///< The recording's file name on the other host. Not trusted.
  /// Provides the bytes of the recording for a copy of it; null if another host has them.
  std::shared_ptr<trace::byte_source> source;
  std::shared_ptr<query::sql_host> host;  ///< The other host that has the recording; null if there is none.
};

/// Opens the recording at an address. For ssh:// addresses, the program "ssh" must be in the local PATH and the program
/// "sluice" in the remote PATH; the environment variable SLUICE_REMOTE_PROGRAM can name another remote program. Errors:
/// those of `follow_live`, `trace::file::open`, `parse_ssh_address`, `connection::to_program` and `open_remote`;
/// cancelled.
[[nodiscard]] result<opened_address> open_address(const std::string& address, const trace::reader_options& options,
                                                  const std::function<bool()>& cancelled);

}  // namespace sluice::remote
