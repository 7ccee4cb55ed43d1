#pragma once

#include <memory>

#include "core/base/error.hpp"
#include "core/query/elsewhere/answerer.hpp"
#include "core/remote/connection.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::remote {

/// A recording for which the peer of a connection computes the results of queries.
struct answered_recording {
  std::shared_ptr<trace::file> file;          ///< The recording without its rows.
  std::shared_ptr<query::answerer> answerer;  ///< The value for `query::engine_options::elsewhere`.
};

/// Requests the data of the peer's recording other than its rows. Errors: foreign (the peer does not compute results),
/// newer_version (the peer is a different build of Sluice), io, corrupt, and the peer's own errors with the recording.
[[nodiscard]] result<answered_recording> get_results(const std::shared_ptr<connection>& by);

}  // namespace sluice::remote
