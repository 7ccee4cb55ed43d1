#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/remote/copy_room.hpp"
#include "core/trace/file/byte_source.hpp"

namespace sluice::remote {

/// A copy of a recording that a `live_server` in another process serves. The copy grows with the recording. A thread
/// fetches all data into a scratch file, so reading never waits, and the received part stays available after the
/// connection ends.
///
/// If the connection ends before the recording does, or if the copy exceeds its limits, `source->poll` returns a remark
/// that says so.
struct live_recording {
  std::shared_ptr<trace::byte_source> source;
  std::string path;  ///< The recording's path on the server's host. Not trusted.
};

/// Connects to `socket` and fetches existing data for at most a second; the thread fetches the rest. `name` is the name
/// of the source. Errors: those of `connection::to_socket`; cancelled; unavailable, if nothing is recorded within five
/// seconds; and io, corrupt or no_space, if the peer failed or the copy exceeded `limits` before there was data to
/// show.
[[nodiscard]] result<live_recording> follow_live(const std::string& socket, const std::string& name,
                                                 const std::function<bool()>& cancelled = {},
                                                 const copy_limits& limits = {});

}  // namespace sluice::remote
