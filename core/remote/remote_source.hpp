#pragma once

#include <functional>
#include <memory>

#include "core/base/error.hpp"
#include "core/remote/connection.hpp"
#include "core/remote/copy_room.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::remote {

/// Opens the recording that the peer of a connection serves. The bytes of the recording are requested when they are
/// read: in blocks, ahead of a reader that goes forward, and several at a time. A scratch file keeps received bytes, so
/// no block is requested twice, and what was received stays readable after the connection ends. A read waits for the
/// peer, at most a minute for each block.
///
/// Once bytes cannot be received, all reads of other bytes fail with the reason (io), and the connection ends. That is
/// so if the connection has ended, if the peer replies with something else, or if the scratch file exceeds `limits`.
/// While the recording grows, the snapshot then also gets a warning.
///
/// Errors: those of `trace::file::open`; unavailable, if nothing has been recorded yet; cancelled; no_space; and the
/// peer's own errors.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_remote(const std::shared_ptr<connection>& by,
                                                               const trace::reader_options& options = {},
                                                               const std::function<bool()>& cancelled = {},
                                                               const copy_limits& limits = {});

}  // namespace sluice::remote
