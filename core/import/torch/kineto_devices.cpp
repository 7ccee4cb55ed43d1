#include "core/import/torch/kineto_devices.hpp"

namespace sluice::importing {

trace::device_id kineto_devices::device(std::int64_t ordinal) {
  const auto [known, fresh] = devices_.try_emplace(ordinal);
  if (fresh) {
    known->second.id = static_cast<trace::device_id>(devices_.size());
    known->second.kind = trace::device_kind::cuda;
    known->second.ordinal = ordinal;
    out_.add(known->second);
  }
  return known->second.id;
}

void kineto_devices::describe(std::int64_t ordinal, std::string_view name, std::uint64_t bytes, std::uint32_t major,
                              std::uint32_t minor) {
  static_cast<void>(device(ordinal));
  trace::device_row& row = devices_[ordinal];
  row.name = out_.intern(name);
  row.memory_bytes = bytes;
  row.compute_major = major;
  row.compute_minor = minor;
}

kineto_devices::place kineto_devices::of(trace::process_id process, std::int64_t ordinal, std::int64_t context,
                                         std::int64_t stream) {
  const numbers key{ordinal, context, stream};
  if (key == last_) return last_place_;
  const auto [known, fresh] = places_.try_emplace(key);
  place& made = known->second;
  if (fresh && ordinal >= 0) {
    made.device = device(ordinal);
    const auto [held, fresh_context] = contexts_.try_emplace({ordinal, context});
    if (fresh_context) {
      held->second = static_cast<trace::context_id>(contexts_.size());
      out_.add(trace::context_row{held->second, process, made.device, static_cast<std::uint64_t>(context)});
    }
    made.context = held->second;
    const auto [row, fresh_stream] = streams_.try_emplace({ordinal, stream});
    if (fresh_stream && stream >= 0) {
      row->second.id = static_cast<trace::stream_id>(streams_.size());
      row->second.process = process;
      row->second.context = made.context;
      row->second.device = made.device;
      row->second.handle = static_cast<std::uint64_t>(stream);
      out_.add(row->second);
    }
    made.stream = row->second.id;
  }
  last_ = key;
  last_place_ = made;
  return made;
}

void kineto_devices::finish(const chrome_tracks& tracks) {
  for (const auto& [ordinal, row] : devices_) out_.add(row);
  for (auto& [where, row] : streams_) {
    if (row.id == trace::stream_id::none) continue;
    row.name = out_.intern(tracks.thread_name(where.first, where.second));
    out_.add(row);
  }
}

}  // namespace sluice::importing
