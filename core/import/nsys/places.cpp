#include "core/import/nsys/places.hpp"

#include <algorithm>
#include <string>

#include "core/import/to_unsigned.hpp"

namespace sluice::importing {
namespace {

/// Parses a UUID such as "74e128b2-90b6-b409-07c8-33bee5ff6f88".
std::pair<std::uint64_t, std::uint64_t> read_uuid(std::string_view text) {
  std::uint64_t halves[2] = {};
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (value < 0 || digits == 32) return {};
    halves[digits / 16] = halves[digits / 16] << 4U | static_cast<std::uint64_t>(value);
    ++digits;
  }
  return digits == 32 ? std::pair{halves[0], halves[1]} : std::pair<std::uint64_t, std::uint64_t>{};
}

}  // namespace

void nsys_places::add_string(std::int64_t id, std::string_view text) { strings_[id] = {{}, std::string(text)}; }

trace::string_id nsys_places::string(std::int64_t id) {
  const auto known = strings_.find(id);
  if (known == strings_.end()) {
    ++missing_strings_;
    return {};
  }
  if (known->second.id == trace::string_id::none) known->second.id = out_.intern(known->second.text);
  return known->second.id;
}

trace::process_id nsys_places::process(std::int64_t global) {
  const auto [known, fresh] = processes_.try_emplace(process_bits(global));
  trace::process_row& row = known->second;
  if (!fresh) return row.id;
  row.id = static_cast<trace::process_id>(processes_.size());
  row.pid = get_pid(global);
  if (const auto name = process_names_.find(known->first); name != process_names_.end())
    row.command = out_.intern(name->second);
  out_.add(row);
  return row.id;
}

nsys_places::thread_place nsys_places::thread(std::int64_t global_tid) {
  const auto bits = static_cast<std::uint64_t>(global_tid);
  if (bits == last_thread_bits_) return last_thread_;
  const auto [known, fresh] = threads_.try_emplace(bits);
  trace::thread_row& row = known->second;
  if (fresh) {
    row.id = static_cast<trace::thread_id>(threads_.size());
    row.process = process(global_tid);
    row.tid = bits & 0xff'ffffU;
    if (const auto name = thread_names_.find(bits); name != thread_names_.end()) row.name = name->second;
    out_.add(row);
  }
  last_thread_bits_ = bits;
  last_thread_ = {row.process, row.id};
  return last_thread_;
}

void nsys_places::name_process(std::int64_t global, std::string_view name) {
  process_names_[process_bits(global)] = name;
}

void nsys_places::name_thread(std::int64_t global_tid, trace::string_id name) {
  const auto bits = static_cast<std::uint64_t>(global_tid);
  thread_names_[bits] = name;
  const auto known = threads_.find(bits);
  if (known == threads_.end() || name == trace::string_id::none) return;
  known->second.name = name;
  out_.add(known->second);
}

void nsys_places::add_gpu(const gpu& about) {
  const auto [known, fresh] = devices_.try_emplace(about.id);
  if (!fresh) return;
  trace::device_row& row = known->second;
  row.id = static_cast<trace::device_id>(devices_.size());
  row.kind = trace::device_kind::cuda;
  row.name = out_.intern(about.name);
  row.ordinal = about.ordinal;
  row.memory_bytes = to_unsigned(about.memory);
  row.compute_major = static_cast<std::uint32_t>(std::clamp<std::int64_t>(about.major, 0, 255));
  row.compute_minor = static_cast<std::uint32_t>(std::clamp<std::int64_t>(about.minor, 0, 255));
  std::tie(row.uuid_high, row.uuid_low) = read_uuid(about.uuid);
  out_.add(row);
  gpu_of_ordinal_.try_emplace(about.ordinal, about.id);
}

void nsys_places::add_ordinal(std::int64_t gpu_id, std::int64_t ordinal, std::int64_t pid) {
  gpu_of_process_[{pid, ordinal}] = gpu_id;
}

void nsys_places::add_stream(std::int64_t pid, std::int64_t stream, std::int64_t priority, bool is_default) {
  about_streams_[{pid, stream}] = {priority, is_default};
}

trace::device_id nsys_places::device(std::int64_t global_pid, std::int64_t ordinal) {
  std::int64_t which = ordinal;
  const auto own = gpu_of_process_.find({static_cast<std::int64_t>(get_pid(global_pid)), ordinal});
  if (own != gpu_of_process_.end()) {
    which = own->second;
  } else if (const auto known = gpu_of_ordinal_.find(ordinal); known != gpu_of_ordinal_.end()) {
    which = known->second;
  }
  const auto [known, fresh] = devices_.try_emplace(which);
  if (fresh) {
    known->second.id = static_cast<trace::device_id>(devices_.size());
    known->second.kind = trace::device_kind::cuda;
    known->second.ordinal = ordinal;
    out_.add(known->second);
  }
  return known->second.id;
}

nsys_places::work_place nsys_places::work(std::int64_t global_pid, std::int64_t ordinal, std::int64_t context,
                                          std::int64_t stream) {
  const numbers key{process_bits(global_pid), ordinal, context, stream};
  if (key == last_work_) return last_place_;
  const auto [known, fresh] = works_.try_emplace(key);
  work_place& output = known->second;
  if (fresh) {
    output.process = process(global_pid);
    output.device = device(global_pid, ordinal);
    const auto [held, fresh_context] = contexts_.try_emplace({process_bits(global_pid), ordinal, context});
    if (fresh_context) {
      held->second = static_cast<trace::context_id>(contexts_.size());
      out_.add(trace::context_row{held->second, output.process, output.device, to_unsigned(context)});
    }
    output.context = held->second;
    if (stream >= 0) {
      trace::stream_row row;
      row.id = output.stream = static_cast<trace::stream_id>(works_.size());
      row.process = output.process;
      row.context = output.context;
      row.device = output.device;
      row.handle = to_unsigned(stream);
      const auto about = about_streams_.find({static_cast<std::int64_t>(get_pid(global_pid)), stream});
      if (about != about_streams_.end()) {
        row.priority = about->second.priority;
        row.is_default = about->second.is_default;
      }
      out_.add(row);
    }
  }
  last_work_ = key;
  last_place_ = output;
  return output;
}

}  // namespace sluice::importing
