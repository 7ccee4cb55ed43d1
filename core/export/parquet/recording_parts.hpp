#pragma once

#include <functional>
#include <memory>

#include "core/export/export.hpp"
#include "core/query/sql/sql_context.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::exports {

/// A recording as indexes of parts, one after another: sections if the file has them, else one of everything.
class recording_parts {
 public:
  /// A large recording without a summary gets one first. Errors: cancelled, io, corrupt.
  [[nodiscard]] static result<recording_parts> open(job& what);

  /// What tables of figures are made from.
  [[nodiscard]] query::sql_context& context() { return *context_; }
  /// The chunks of the recording. Errors: cancelled.
  [[nodiscard]] result<const analysis::chunk_index*> chunks();
  /// Calls `visit` with the index of each part and the times that it covers, in order. Errors: cancelled, io, corrupt,
  /// and those of `visit`.
  using visitor = std::function<result<void>(const analysis::index& part, analysis::time_range covered)>;
  [[nodiscard]] result<void> for_each(const visitor& visit);

 private:
  std::unique_ptr<query::sql_context> context_;
  std::shared_ptr<const analysis::section_reader> sections_;  ///< Null: the file has none.
};

}  // namespace sluice::exports
