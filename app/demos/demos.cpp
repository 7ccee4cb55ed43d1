#include <algorithm>
#include <array>
#include <chrono>

#include "app/demos/demo.hpp"
#include "instrumentation/backend/simulated/clock.hpp"

namespace sluice::demos {

namespace {

constexpr std::array table{
    demo{"chunked-file", "Processes a mapped file on the device in chunks: first in a plain loop, then in a pipeline.",
         "In the plain loop every step waits for the previous one and the link idles; in the pipeline, reading, both "
         "copy directions, the kernel and writing overlap.",
         0.0257, chunked_file},
    demo{"pool-churn", "A training-like loop of short-lived blocks from a pool, with a trim halfway through.",
         "Reserved memory climbs in steps while used memory rises and falls below it; free memory becomes fragmented; "
         "the trim returns whole segments.",
         0.0048, pool_churn},
    demo{"overlap", "Copies in, computes and copies back: on one stream with waits, then on two streams.",
         "Serial: one thing at a time. Two streams: a kernel runs during the copies of the other stream, and both copy "
         "directions are busy at once.",
         0.0058, overlap},
    demo{
        "pinned-vs-pageable", "Makes the same copies from pageable, registered and pinned memory.",
        "Bandwidth against the link's peak: pageable copies stay far below it, and the host waits in each call; pinned "
        "copies come close to it.",
        0.0246, pinned_vs_pageable},
    demo{"managed-migration",
         "Touches managed memory from host and device in turn: by page faults, by prefetch, read-mostly.",
         "Kernels that fault take many times as long as those after a prefetch; read-mostly pages migrate once.", 0.061,
         managed_migration},
    demo{"leak", "A loop that frees its scratch memory but leaks one small block per step.",
         "Memory use between steps never returns to its earlier level; the report's table \"Never freed\" shows the "
         "leak's "
         "tag.",
         0.007, leak},
    demo{"graph-replay", "A hundred small kernels per iteration: launched one by one, then as one graph.",
         "One by one, the stream waits for the host between kernels; with the graph, one short call launches a hundred "
         "kernels that run back to back.",
         0.004, graph_replay},
    demo{"priority-streams",
         "Runs short requests next to long batches: on a stream of the same priority, then on the most urgent one.",
         "At the same priority, a request's kernel waits behind all batches; the urgent one runs beside them and "
         "finishes long before.",
         0.0426, priority_streams},
    demo{
        "mapped-memory",
        "A kernel that reads host memory in place, then a device copy of it; and an upload from write-combined memory.",
        "Mapped: no copies, but kernels are limited by the link. Mapped memory wins for one pass, a copy for eight "
        "passes.",
        0.0093, mapped_memory},
    demo{"stencil", "Sums of neighbors: from global memory, then staged through shared memory.",
         "The staged kernels show their shared memory in the details, and are shorter, because each word is fetched "
         "only "
         "once.",
         0.0056, stencil},
};

}  // namespace

std::int64_t context::now_ns() const {
  if (const backend::simulated_clock* clock = device_.backend().clock()) return clock->now();
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

std::span<const demo> all() noexcept { return table; }

const demo* find(std::string_view name) noexcept {
  const auto it = std::find_if(table.begin(), table.end(), [&](const demo& w) { return w.name == name; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace sluice::demos
