#pragma once

#include "core/index/recording_facts.hpp"
#include "core/summary/metrics/serialize.hpp"
#include "core/summary/metrics/stored_metrics_format.hpp"

/// Lists the members of `recording_facts` that are stored in the file. A change here needs a new `sections_version`, so
/// that `section_reader` ignores facts in another format. Private to core.
namespace sluice::summary {

#define SLUICE_KEPT(type)  \
  template <class Archive> \
  void fields(Archive& all, like<Archive, type> of)

SLUICE_KEPT(index::recording_facts::part_of_it) { all(of, of.what, of.highest); }
SLUICE_KEPT(index::recording_facts::memory) { all(of, of.key, of.highest, of.stacks, of.by_category); }
SLUICE_KEPT(index::recording_facts::pool) { all(of, of.pool, of.has_segments, of.has_blocks, of.highest); }
SLUICE_KEPT(index::recording_facts::untracked) { all(of, of.device, of.time, of.value, of.order); }
SLUICE_KEPT(index::stream_key) { all(of, of.process, of.device, of.stream); }
SLUICE_KEPT(index::direction_key) { all(of, of.device, of.direction); }
SLUICE_KEPT(index::thread_key) { all(of, of.process, of.thread); }
SLUICE_KEPT(index::recording_facts::stream) { all(of, of.key, of.lanes); }
SLUICE_KEPT(index::recording_facts::direction) { all(of, of.key, of.lanes, of.highest_rate); }
SLUICE_KEPT(index::recording_facts::thread) { all(of, of.key, of.range_lanes, of.call_lanes); }
SLUICE_KEPT(index::graph_use) { all(of, of.graph, of.nodes, of.first, of.last); }
SLUICE_KEPT(index::block_graph_use) { all(of, of.block, of.use, of.copies); }
SLUICE_KEPT(index::recording_facts) {
  all(of, of.listed, of.memories, of.pools, of.not_tracked, of.streams, of.directions, of.threads, of.with_kernels,
      of.graphs, of.segments, of.touches, of.tagged, left_out{}, left_out{});
}

#undef SLUICE_KEPT

}  // namespace sluice::summary
