#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "core/query/results/long_result.hpp"

/// Queries whose type is not known at compile time, and the choice of the source of their results. Private to
/// core/query.
namespace sluice::query {

class operator_run;

/// A query of any type, and what the engine needs to know of it. `erase_type` makes one. Immutable, thus thread-safe.
class asked_query {
 public:
  asked_query() = default;
  virtual ~asked_query() = default;
  asked_query(const asked_query&) = delete;
  asked_query& operator=(const asked_query&) = delete;

  /// `other` must have the same type.
  [[nodiscard]] virtual bool equals(const asked_query& other) const = 0;
  /// True for queries of the timeline, whose results are computed from bins.
  [[nodiscard]] virtual bool draws() const = 0;
  /// Returns the time range that the query draws, and its width in pixels; nullopt if nothing can be read ahead.
  [[nodiscard]] virtual std::optional<std::pair<time_range, std::uint32_t>> view() const = 0;

  /// Computes the result from the index in `source`. `before`: an earlier result of the same query; may be null.
  [[nodiscard]] virtual result<any_value> compute(const sources& source, const any_value& before) const = 0;
  /// Returns the result from stored metrics; nullopt if they do not have it. `source.stored` must be set.
  [[nodiscard]] virtual std::optional<result<any_value>> find_in_metrics(const sources& source) const = 0;
  /// Returns the planned run of the query's operator over the file's sections; null if the file has none and the
  /// operator needs them, and for queries of the timeline. Objects that `source` refers to must outlive the run.
  [[nodiscard]] virtual std::unique_ptr<operator_run> prepare(const sources& source) const = 0;
  /// Starts a run that takes long, or one that computes the same result faster. Null if `prepare` returns null.
  [[nodiscard]] virtual unique_result start(const sources& source) const = 0;
};

/// Computes a result from the bins and metrics that a file stores, or in one step from the rows of a few of its
/// sections. Returns nullopt if the query takes long (then call `start`) or needs an index of the whole recording.
/// `source.stored` must be set; `source.index` is not used.
[[nodiscard]] std::optional<result<any_value>> find_result(const asked_query& query, const sources& source);

/// Computes a complete result in one of the two ways. Returns nullopt if an index of the whole recording is needed.
[[nodiscard]] std::optional<result<any_value>> find_whole_result(const asked_query& query, const sources& source);

}  // namespace sluice::query
