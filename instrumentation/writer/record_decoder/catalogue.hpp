#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/blocks/key_map.hpp"
#include "instrumentation/writer/rings/nvml.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/rings/table_budget.hpp"

namespace sluice::writer {

/// Returns the id after `last`, which becomes that id.
template <class Id>
Id next_id(std::uint64_t& last) {
  return static_cast<Id>(++last);
}

/// The keys of one process, and the ids and rows to which they currently refer.
struct process_names {
  /// Returns the row of `key` in one of the maps below. A new row gets the id after `last`.
  template <class Map>
  auto& row_of(Map& rows, typename Map::key_type key, std::uint64_t& last) {
    const auto [place, fresh] = rows.try_emplace(key);
    auto& found = place->second;
    if (fresh) {
      found.id = next_id<decltype(found.id)>(last);
      found.process = id;
    }
    return found;
  }

  trace::process_id id{};
  trace::process_row row;
  std::unordered_map<std::uint64_t, trace::thread_row> threads;  ///< Keyed by tid.
  std::unordered_set<std::uint64_t> named_threads;               ///< Threads named by the program itself.
  std::unordered_map<std::uint32_t, trace::device_id> devices;   ///< Keyed by the process's own device number.
  std::unordered_map<std::uint32_t, trace::context_row> contexts;
  std::unordered_map<std::uint64_t, trace::stream_row> streams;  ///< The latest row of each stream key.
  std::unordered_map<std::uint64_t, trace::pool_row> pools;
  std::unordered_map<std::uint64_t, trace::counter_row> counters;
  std::unordered_map<std::uint64_t, trace::event_id> event_records;  ///< The latest record of each CUDA event.

  /// The keys that were looked up last and their ids, because the next look-up is usually for the same key. Key 0:
  /// none.
  std::uint32_t last_context = 0;
  trace::context_id last_context_id{};
  std::uint64_t last_stream = 0;
  trace::stream_id last_stream_id{};
};

/// Assigns ids to the objects that recorded processes identify by their own keys, and writes the objects' table rows.
/// An object whose key is used before its declaration gets an id at once, and its details later. Not thread-safe.
class catalogue {
 public:
  explicit catalogue(trace::file_writer& file, std::size_t max_bytes = table_budget::usual_bytes)
      : file_(file), budget_(max_bytes) {}

  /// The memory limit for declarations, call stacks included.
  [[nodiscard]] table_budget& budget() const { return budget_; }

  // Text keys are hashes of the content, so a key means the same in all processes. `define_text` returns false for a
  // text that does not match its key.
  bool define_text(std::uint64_t key, std::string_view text);
  [[nodiscard]] trace::string_id text(std::uint64_t key) const {
    const trace::string_id* const found = texts_.find(key);
    if (found != nullptr) return *found;
    return key == 0 ? trace::string_id::none : other_names_;
  }
  trace::string_id text_id(std::string_view text) { return file_.intern(text); }

  // pool_stream keys are hashes of the record's content, so a key means the same in all processes.
  bool define_pool_stream(const ring::pool_stream_record& pool_stream);
  /// The pool_stream with this key; null if it was never declared. Valid until the next `define_pool_stream`.
  [[nodiscard]] const ring::pool_stream_record* pool_stream(std::uint64_t key) const { return pool_streams_.find(key); }

  /// Assigns an id to the process and writes its row.
  void add_process(process_names& process, const producer_identity& identity, std::uint64_t pid,
                   trace::process_id parent, trace::time_ns begin);
  /// Corrects the row of a process when its identity becomes known.
  void identify(process_names& process, const producer_identity& identity);
  void update_process(const process_names& process) { file_.add(process.row); }

  trace::thread_id thread(process_names& process, std::uint64_t tid, std::string_view name);
  /// Sets a thread's name that the program chose; this name takes priority over the system's.
  void name_thread(process_names& process, std::uint64_t tid, std::uint64_t name);

  void define(process_names& process, const ring::device_record& record);
  void define(process_names& process, const ring::context_record& record);
  void define(process_names& process, const ring::stream_record& record);
  void define(process_names& process, const ring::pool_record& record);
  void define(process_names& process, const ring::counter_record& record);
  void define(process_names& process, const ring::mode_record& record);

  trace::device_id device(process_names& process, std::uint32_t key) {
    return key == ring::no_device ? trace::device_id::none : look_up_device(process, key);
  }
  /// GPUs for which no process reported the links to other GPUs.
  [[nodiscard]] std::vector<gpu_uuid> gpus_without_peer_peak() const;
  void set_peer_peak(const gpu_uuid& gpu, std::uint64_t bytes_per_second);
  trace::context_id context(process_names& process, std::uint32_t key) {
    if (key == 0) return trace::context_id::none;
    if (key != process.last_context) look_up_context(process, key);
    return process.last_context_id;
  }
  trace::stream_id stream(process_names& process, std::uint64_t key) {
    if (key == 0) return trace::stream_id::none;
    if (key != process.last_stream) look_up_stream(process, key);
    return process.last_stream_id;
  }
  trace::pool_id pool(process_names& process, std::uint64_t key) {
    return key == 0 ? trace::pool_id::none : look_up_pool(process, key);
  }
  trace::counter_id counter(process_names& process, std::uint64_t key);
  /// The pools that the driver does not manage. O(pools).
  [[nodiscard]] static std::unordered_set<trace::pool_id> pools_of_program(const process_names& process);

 private:
  trace::host_id host(std::string_view name, std::string_view boot_id);
  trace::device_id look_up_device(process_names& process, std::uint32_t key);
  trace::pool_id look_up_pool(process_names& process, std::uint64_t key);
  void look_up_context(process_names& process, std::uint32_t key);
  void look_up_stream(process_names& process, std::uint64_t key);
  trace::context_row& context_row(process_names& process, std::uint32_t key);
  trace::stream_row& stream_row(process_names& process, std::uint64_t key);
  trace::pool_row& pool_row(process_names& process, std::uint64_t key);
  trace::counter_row& counter_row(process_names& process, std::uint64_t key);
  void write_stream(process_names& process, trace::stream_row& row, std::uint64_t key);

  /// Interns a name that the trace can do without; returns the id of "(other names)" if the memory limit is reached.
  trace::string_id bounded_name(std::string_view name);
  void leave_names_out();
  /// True if `key` is known or there is memory for it.
  template <class Map, class Key>
  [[nodiscard]] bool has_place(const Map& known, Key key, declared kind) {
    constexpr std::size_t bytes_per_key = 256;  // Some keys need a node in two maps, which contains a row.
    return known.contains(key) || budget_.take(kind, bytes_per_key);
  }

  /// The id of `key`. If `key` is new, writes the row that `make` returns; none if there is no memory for it.
  template <class Map, class Make>
  auto look_up(const Map& rows, typename Map::key_type key, declared kind, Make&& make) {
    using id = decltype(rows.find(key)->second.id);
    const auto known = rows.find(key);
    if (known != rows.end()) return known->second.id;
    if (!has_place(rows, key, kind)) return id::none;
    const auto& row = make();
    file_.add(row);
    return row.id;
  }

  trace::file_writer& file_;
  mutable table_budget budget_;
  trace::string_id other_names_{};  ///< Id of "(other names)"; none until a name is left out.
  key_map<trace::string_id> texts_;
  key_map<ring::pool_stream_record> pool_streams_;
  std::map<gpu_uuid, trace::device_id> devices_by_uuid_;
  std::map<gpu_uuid, trace::device_row> gpus_;  ///< Rows of GPUs, as last written.
  std::map<std::pair<trace::string_id, trace::string_id>, trace::host_id> hosts_;
  std::unordered_map<std::uint64_t, std::uint64_t> introduced_streams_;  ///< Driver handles of streams, by stream id.
  std::uint64_t last_process_ = 0, last_thread_ = 0, last_device_ = 0, last_context_ = 0, last_stream_ = 0;
  std::uint64_t last_pool_ = 0, last_counter_ = 0, last_host_ = 0;
};

/// Converts `value` to an enumerator; the first enumerator (unknown) if `value` is out of range.
template <class Enum>
[[nodiscard]] constexpr Enum checked(std::uint64_t value) {
  return value < trace::enum_values<Enum> ? static_cast<Enum>(value) : Enum{};
}

}  // namespace sluice::writer
