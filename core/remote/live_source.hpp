#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/remote/copy_room.hpp"
#include "core/trace/file/byte_source.hpp"

namespace sluice::remote {

/// A copy of a recording that `live_server` serves, which grows as that does. A thread fetches all of it into a scratch
/// file, so reading never waits, and what came stays when the connection ends.
///
/// If the connection ends before the recording does, or the copy has no more room, `look` says so in its remark.
struct live_recording {
  std::shared_ptr<trace::byte_source> source;
  std::string path;  ///< The recording's path, as its owner names it. Not trusted.
};

/// Connects to `socket` and fetches what there is, for at most a second; more comes later. `name`: of the source.
/// Errors: those of `connection::to_socket`; unavailable, if nothing has been recorded for five seconds; cancelled; io,
/// corrupt or no_space, if the other side or the room for the copy (`limits`) has failed before there is something to show.
[[nodiscard]] result<live_recording> follow_live(const std::string& socket, const std::string& name,
                                                 const std::function<bool()>& cancelled = {},
                                                 const copy_limits& limits = {});

}  // namespace sluice::remote
