#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/import/torch/snapshot.hpp"
#include "core/import/torch/stacks.hpp"

/// Types and functions that the source files of the PyTorch snapshot importer share. Private to core/import/torch.
namespace sluice::importing::torch {

/// The state that all allocators of a snapshot share: tables, time, stacks.
struct shared {
  shared(const pickle_document& document, const snapshot& snapshot, job& w)
      : from(document), recording(snapshot), work(w), stacks(document, w) {}

  const pickle_document& from;
  const snapshot& recording;
  job& work;
  stack_writer stacks;
  std::int64_t origin_us = no_time;
  time_ns begin = 0;  ///< The start of the recording. Blocks from before it get this time as their allocation time.
  std::uint64_t last_block = 0;
  std::map<std::int64_t, trace::device_id> devices;
  std::map<std::pair<std::int64_t, std::uint64_t>, trace::stream_id> streams;
  std::map<std::tuple<bool, std::int64_t, pool_name>, trace::pool_id> pools;
  trace::string_id torch_name{};

  [[nodiscard]] trace::file_writer& out() const { return work.out(); }
  static constexpr trace::process_id process{1};

  [[nodiscard]] trace::device_id device(std::int64_t ordinal) {
    if (ordinal < 0) return {};
    auto& id = devices[ordinal];
    if (id != trace::device_id::none) return id;
    id = static_cast<trace::device_id>(devices.size());
    trace::device_row row;
    row.id = id;
    row.kind = trace::device_kind::cuda;
    row.ordinal = ordinal;
    row.name = out().intern("GPU " + std::to_string(ordinal));
    out().add(row);
    return id;
  }

  [[nodiscard]] trace::stream_id stream(std::int64_t ordinal, std::uint64_t handle) {
    auto& id = streams[{ordinal, handle}];
    if (id != trace::stream_id::none) return id;
    id = static_cast<trace::stream_id>(streams.size());
    trace::stream_row row;
    row.id = id;
    row.process = process;
    row.device = device(ordinal);
    row.handle = handle;
    row.is_default = handle == 0;
    out().add(row);
    return id;
  }

  [[nodiscard]] trace::pool_id pool(bool host, std::int64_t ordinal, pool_name name) {
    auto& id = pools[{host, ordinal, name}];
    if (id != trace::pool_id::none) return id;
    id = static_cast<trace::pool_id>(pools.size());
    trace::pool_row row;
    row.id = id;
    row.process = process;
    row.device = device(ordinal);
    row.layer = trace::layer::framework;
    row.kind = host ? trace::memory_kind::pinned : trace::memory_kind::device;
    std::string text = host ? "PyTorch's pinned memory" : "PyTorch's caching allocator";
    if (name != pool_name{}) text = "PyTorch's pool " + std::to_string(name.first) + "." + std::to_string(name.second);
    row.name = out().intern(text);
    out().add(row);
    return id;
  }
};

/// Writes the scopes of torch.profiler.record_function and of optimizers, which are nested START/END pairs, as ranges.
void write_annotations(shared& whole);

/// Writes the allocator's settings as a mark at the start of the recording, with one attribute for each setting.
void write_settings(shared& whole);

}  // namespace sluice::importing::torch
