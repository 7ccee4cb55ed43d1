#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "core/query/results/long_queries.hpp"
#include "core/query/results/query_operator.hpp"

/// Queries whose type is not known at compile time, and the choice of the source of their results. Private to
/// core/query.
namespace sluice::query {

/// The sections (time spans that can be read alone) that a query needs.
struct needed_sections {
  std::optional<time_range> range;            ///< None: the query is not about a time.
  index::section_scope scope{};               ///< The data that the index of a section must hold.
  trace::process_id process{};                ///< The only process whose rows are needed; none: all processes.
  std::unique_ptr<any_operator> operation{};  ///< Null if the query has no operator.
};

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
  /// Returns the result from stored metrics, or in another way that needs no index of all sections in the query's range;
  /// nullopt if there is no such way. `source.stored` must be set.
  [[nodiscard]] virtual std::optional<result<any_value>> find_directly(const sources& source) const = 0;
  /// Returns what the query needs of the recording's sections. May read rows. `source.stored->sections` must be set.
  [[nodiscard]] virtual needed_sections find_needs(const sources& source) const = 0;
  /// Starts a query that takes long; null if it does not. `by_sections`: computes the result from many sections, and is
  /// returned if there is no better way; may be null.
  [[nodiscard]] virtual unique_result start(const sources& source, unique_result by_sections) const = 0;
};

/// Computes a result from the bins and metrics that a file stores, or from the rows of some of its sections.
/// Returns nullopt if the query takes long (then call `start_long_result`) or needs an index
/// of the whole recording. `source.stored` must be set; `source.index` is not used.
[[nodiscard]] std::optional<result<any_value>> find_result(const asked_query& query, const sources& source);

/// Starts a query that takes long: a search, or a query that covers many sections, which are read in steps of a few
/// sections. Returns null for queries that do not take long. Objects that `source` refers to must outlive the returned
/// object. `source.stored` may be null.
[[nodiscard]] unique_result start_long_result(const asked_query& query, const sources& source);

/// Computes a complete result in one of the two ways. Returns nullopt if an index of the whole recording is needed.
[[nodiscard]] std::optional<result<any_value>> find_whole_result(const asked_query& query, const sources& source);

}  // namespace sluice::query
