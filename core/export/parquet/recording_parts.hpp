#pragma once

#include <functional>
#include <memory>

#include "core/export/export.hpp"
#include "core/query/sql/sql_context.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::exports {

/// A recording as a sequence of indexes. Each index covers a few sections (time spans) of the file. A file without
/// sections has one index of everything.
class recording_parts {
 public:
  /// Opens the recording of an export. Summarizes a large recording that has no summary. Errors: cancelled, io,
  /// corrupt.
  [[nodiscard]] static result<recording_parts> open(job& export_job);

  /// Returns the context that functions of metric tables need.
  [[nodiscard]] query::sql_context& context() { return *context_; }
  /// Returns the chunks of the recording. Errors: cancelled.
  [[nodiscard]] result<const index::chunk_index*> chunks();
  /// Calls `visit` with the index of each part and the time range that it covers, in order. Errors: cancelled, io,
  /// corrupt, and those of `visit`.
  using visitor = std::function<result<void>(const index::event_store& part, time_range covered)>;
  [[nodiscard]] result<void> for_each(const visitor& visit);

 private:
  std::unique_ptr<query::sql_context> context_;
  std::shared_ptr<const summary::section_reader> sections_;  ///< Null if the file has no sections.
};

}  // namespace sluice::exports
