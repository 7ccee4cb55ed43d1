#include <algorithm>
#include <array>
#include <chrono>

#include "app/workloads/workload.hpp"
#include "instrumentation/backend/simulated/clock.hpp"

namespace sluice::workloads {

namespace {

constexpr std::array table{
    workload{
        "chunked-file", "Takes a mapped file through the device in pieces: the plain loop first, then a pipeline.",
        "In the plain loop every step waits for the one before and the link idles; in the pipeline reading, both copy "
        "directions, the kernel and writing overlap.",
        0.0257, chunked_file},
    workload{"pool-churn", "A training-like loop of short-lived blocks from a pool, with a trim half way.",
             "Reserved memory climbs in steps while used memory breathes under it; free memory gets scattered; the "
             "trim gives "
             "whole segments back.",
             0.0048, pool_churn},
    workload{
        "overlap", "Copy, compute, copy back: on one stream with waits, then on two streams.",
        "Serial: one thing at a time. Two streams: a kernel runs under the copies of the other stream, and both copy "
        "directions are busy at once.",
        0.0058, overlap},
    workload{"pinned-vs-pageable", "The same copies from pageable, registered and pinned memory.",
             "Bandwidth against the link's peak: pageable copies stay far below, and the host waits in each call; "
             "pinned ones "
             "come close.",
             0.0246, pinned_vs_pageable},
    workload{"managed-migration",
             "Managed memory touched by host and device in turn: by page faults, by prefetch, read-mostly.",
             "Kernels that fault last many times as long as those after a prefetch; read-mostly pages migrate once.",
             0.061, managed_migration},
    workload{"leak", "A loop that frees its scratch memory and forgets one small block a step.",
             "Memory use between steps never comes back down to where it was; the report's unfreed blocks name the "
             "culprit's tag.",
             0.007, leak},
    workload{
        "graph-replay", "A hundred small kernels a turn: launched one by one, then as one graph.",
        "One by one, the stream waits for the host between kernels; in the graph one short call stands for a hundred "
        "kernels that follow each other at once.",
        0.004, graph_replay},
    workload{
        "priority-streams",
        "Short requests beside long batches: on a stream of the same priority, then on the most urgent one.",
        "At the same priority a request's kernel stands in line behind all batches; the urgent one runs beside them "
        "and is done long before.",
        0.0426, priority_streams},
    workload{
        "mapped-memory",
        "A kernel on host memory where it is, and on a copy of it; then write-combined memory for an upload.",
        "Mapped: no copies, and kernels as long as the link takes. For one pass that is the shorter way, for eight "
        "passes the copy is.",
        0.0093, mapped_memory},
    workload{"stencil", "Sums of neighbours: from global memory, then staged through shared memory.",
             "The staged kernels show their shared memory in the details, and are shorter, since each word is fetched "
             "once.",
             0.0056, stencil},
};

}  // namespace

std::int64_t context::now_ns() const {
  if (const backend::simulated_clock* clock = device_.backend().clock()) return clock->now();
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

std::span<const workload> all() noexcept { return table; }

const workload* find(std::string_view name) noexcept {
  const auto it = std::find_if(table.begin(), table.end(), [&](const workload& w) { return w.name == name; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace sluice::workloads
