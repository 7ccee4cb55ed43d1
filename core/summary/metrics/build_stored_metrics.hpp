#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "core/base/error.hpp"
#include "core/metrics/metrics_builder.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/summary/stored/stored_metrics.hpp"

namespace sluice::summary {

/// A function that is called with the events of the consecutive sections [first, last]. It returns false to cancel.
using run_visitor = std::function<bool(const index::event_store& store, std::size_t first, std::size_t last)>;

struct stored_metrics_options {
  /// Maximum number of sections per event store. If sections are large, an event store has fewer sections.
  std::size_t sections_a_run = 2;
  /// If true, the work uses the available cores, at most sixteen. It then reads several event stores ahead, and
  /// computes metrics in several threads, at the same time as tiles. If false, one thread reads ahead while another
  /// does the rest.
  bool several_cores = true;
  /// Number of threads that read event stores ahead. 0: half of the cores, at most six; without `several_cores`, one.
  std::size_t readers = 0;
  bool one_thread = false;  ///< If true, all work is done on the calling thread.
};

/// Computes a recording's stored metrics from its sections, then reads the sections that contain a peak again.
/// Meanwhile, other threads read the next sections. Takes the memory of two event stores (three to seven with
/// `several_cores`), plus a little per stack, segment, step, repeated copy and live block. The result equals the
/// metrics computed from the whole recording, with two exceptions. First, the last digits of doubles may differ (means,
/// shares, bytes of transfers cut at the boundary of a section or step). Second, `report_metrics::waste` is computed
/// within each event store. Idle time between two uses in different sections is therefore not detected, and launches
/// are counted only up to the end of the event store.
///
/// Calls `also` with each event store, in order of time and on the calling thread, for other work that needs all
/// sections. Each section is in exactly one event store. Steps are taken from `from.whole()`. `goes_on` is called after
/// each chunk, from any thread. Errors: those of `section_reader::get_index`; invalid_argument without sections;
/// cancelled if `also` or `goes_on` returns false. If `range` is set, the metrics describe that time range, but all
/// sections are read.
[[nodiscard]] result<stored_metrics> build_stored_metrics(const section_reader& reader,
                                                          const metrics::unsectioned_facts& unsectioned,
                                                          const stored_metrics_options& options = {},
                                                          const run_visitor& also = {},
                                                          const std::function<bool()>& goes_on = {},
                                                          std::optional<time_range> range = {});

}  // namespace sluice::summary
