#pragma once

#include "core/index/recording_facts.hpp"
#include "core/summary/stored/serialize.hpp"
#include "core/summary/stored/stored_metrics_format.hpp"

/// Lists the members of `recording_facts` (facts about a whole recording) that a file stores. A change here needs a new
/// `sections_version`, so that `section_reader` ignores facts in another format. Private to core.
namespace sluice::summary {

#define SLUICE_KEPT(type)  \
  template <class Archive> \
  void fields(Archive& archive, like<Archive, type> row)

SLUICE_KEPT(index::recording_facts::part_of_it) { archive(row, row.kind, row.highest); }
SLUICE_KEPT(index::recording_facts::memory) { archive(row, row.key, row.highest, row.stacks, row.by_category); }
SLUICE_KEPT(index::recording_facts::pool) { archive(row, row.pool, row.has_segments, row.has_blocks, row.highest); }
SLUICE_KEPT(index::recording_facts::untracked) { archive(row, row.device, row.time, row.value, row.order); }
SLUICE_KEPT(index::stream_key) { archive(row, row.process, row.device, row.stream); }
SLUICE_KEPT(index::direction_key) { archive(row, row.device, row.direction); }
SLUICE_KEPT(index::thread_key) { archive(row, row.process, row.thread); }
SLUICE_KEPT(index::recording_facts::stream) { archive(row, row.key, row.lanes); }
SLUICE_KEPT(index::recording_facts::direction) { archive(row, row.key, row.lanes, row.highest_rate); }
SLUICE_KEPT(index::recording_facts::thread) { archive(row, row.key, row.range_lanes, row.call_lanes); }
SLUICE_KEPT(index::graph_use) { archive(row, row.graph, row.nodes, row.first, row.last); }
SLUICE_KEPT(index::block_graph_use) { archive(row, row.block, row.use, row.copies); }
SLUICE_KEPT(index::recording_facts) {
  archive(row, row.listed, row.memories, row.pools, row.not_tracked, row.streams, row.directions, row.threads,
          row.with_kernels, row.graphs, row.segments, row.touches, row.tagged, left_out{}, left_out{});
}

#undef SLUICE_KEPT

}  // namespace sluice::summary
