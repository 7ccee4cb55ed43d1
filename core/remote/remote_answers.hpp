#pragma once

#include <memory>

#include "core/base/error.hpp"
#include "core/query/elsewhere/answerer.hpp"
#include "core/remote/connection.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::remote {

/// A recording whose questions the other side of a connection answers.
struct answered_recording {
  std::shared_ptr<trace::file> file;          ///< Without rows.
  std::shared_ptr<query::answerer> answerer;  ///< For `query::engine_options::elsewhere`.
};

/// Asks the other side for what is shown besides answers. Errors: foreign (it answers no questions), newer_version (it is
/// another build of Sluice), io, corrupt, and those that the other side has with the recording.
[[nodiscard]] result<answered_recording> answers_of(const std::shared_ptr<connection>& by);

}  // namespace sluice::remote
