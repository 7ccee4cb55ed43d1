#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Resolves the numbers by which an Nsight Systems export refers to texts, processes, threads and devices. Private to
/// core/import.
class nsys_places {
 public:
  explicit nsys_places(trace::file_writer& out) : out_(out) {}

  void add_string(std::int64_t id, std::string_view text);
  /// Returns the text with that id. If the id has no text, counts it and returns none.
  [[nodiscard]] trace::string_id string(std::int64_t id);
  [[nodiscard]] std::uint64_t missing_strings() const { return missing_strings_; }

  /// Returns the upper bits of a serialized process or thread id. They contain the machine and the pid, so they are the
  /// same for all threads of a process.
  [[nodiscard]] static std::uint64_t process_bits(std::int64_t global) {
    return static_cast<std::uint64_t>(global) >> 24U;
  }
  [[nodiscard]] static std::uint64_t get_pid(std::int64_t global) { return process_bits(global) & 0xff'ffffU; }

  [[nodiscard]] trace::process_id process(std::int64_t global);
  struct thread_place {
    trace::process_id process{};
    trace::thread_id thread{};
  };
  [[nodiscard]] thread_place thread(std::int64_t global_tid);
  void name_process(std::int64_t global, std::string_view name);
  void name_thread(std::int64_t global_tid, trace::string_id name);

  struct gpu {
    std::int64_t id = 0, ordinal = 0, memory = 0, major = 0, minor = 0;
    std::string_view name, uuid;
  };
  void add_gpu(const gpu& about);
  /// Sets the ordinal that a process uses for a GPU.
  void add_ordinal(std::int64_t gpu_id, std::int64_t ordinal, std::int64_t pid);
  void add_stream(std::int64_t pid, std::int64_t stream, std::int64_t priority, bool is_default);

  [[nodiscard]] trace::device_id device(std::int64_t global_pid, std::int64_t ordinal);
  /// Allocates the id of a new counter.
  [[nodiscard]] trace::counter_id new_counter() { return static_cast<trace::counter_id>(++last_counter_); }
  struct work_place {
    trace::process_id process{};
    trace::device_id device{};
    trace::context_id context{};
    trace::stream_id stream{};
  };
  /// Returns the place where device work ran. A negative stream means none. O(1).
  [[nodiscard]] work_place work(std::int64_t global_pid, std::int64_t ordinal, std::int64_t context,
                                std::int64_t stream);

 private:
  using numbers = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct about_stream {
    std::int64_t priority = 0;
    bool is_default = false;
  };
  struct known_string {
    trace::string_id id{};
    std::string text;
  };

  trace::file_writer& out_;
  std::unordered_map<std::int64_t, known_string> strings_;
  std::uint64_t missing_strings_ = 0;
  std::unordered_map<std::uint64_t, trace::process_row> processes_;
  std::unordered_map<std::uint64_t, std::string> process_names_;
  std::unordered_map<std::uint64_t, trace::thread_row> threads_;
  std::unordered_map<std::uint64_t, trace::string_id> thread_names_;
  std::uint64_t last_thread_bits_ = ~std::uint64_t{0};
  thread_place last_thread_;
  std::map<std::int64_t, trace::device_row> devices_;  ///< Keyed by GPU id.
  std::map<std::int64_t, std::int64_t> gpu_of_ordinal_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpu_of_process_;  ///< Keyed by pid and ordinal.
  std::map<std::pair<std::int64_t, std::int64_t>, about_stream> about_streams_;   ///< Keyed by pid and stream number.
  std::map<numbers, work_place> works_;
  std::map<std::tuple<std::uint64_t, std::int64_t, std::int64_t>, trace::context_id> contexts_;
  std::uint64_t last_counter_ = 0;
  numbers last_work_{~std::uint64_t{0}, -1, -1, -1};
  work_place last_place_;
};

}  // namespace sluice::importing
