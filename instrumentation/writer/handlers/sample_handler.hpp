#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "instrumentation/writer/record_decoder/call_stacks.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/sampling/raw_sample.hpp"

namespace sluice::writer {

/// Turns samples of host threads into rows. A sample waits for the frames of Python, which another thread reads and
/// which arrive a turn later. Not thread-safe.
class sample_handler {
 public:
  sample_handler(trace::file_writer& file, catalogue& names, call_stacks& stacks, const trace_clock& clock)
      : file_(file), names_(names), stacks_(stacks), clock_(clock) {}

  /// Declares a file of code, unless the process itself has declared it. Call before `add` of samples with frames in it.
  void define(recorded_process& process, const raw_module& module);
  /// Declares the system's name of a thread; it gets a row with its first sample that shows it on a CPU.
  void define(recorded_process& process, const raw_thread& thread);
  /// Declares the name of the function that a frame is in. Call before `add` of samples with the frame.
  void define(recorded_process& process, const raw_name& name);
  /// Adds a sample. The process must outlive this object. Samples of the recorder's own threads are dropped, and so are
  /// those of a thread that has no events and has not been seen on a CPU yet: nothing but its existence is known.
  void add(recorded_process& process, raw_sample sample);
  /// Writes the samples that have waited long enough or, with `everything`, all.
  void settle(bool everything);

  /// How long a sample waits, in ns: a few turns.
  static constexpr trace::time_ns wait = 100'000'000;
  /// Frames of Python that were read this long before or after a sample may belong to it (ns). Of a stack that does not change, a
  /// second, like native frames.
  static constexpr trace::time_ns max_python_distance = 20'000'000;

 private:
  struct waiting {
    recorded_process* process;
    raw_sample sample;
  };
  void write(recorded_process& process, const raw_sample& sample);
  [[nodiscard]] trace::thread_id find_thread(recorded_process& process, const raw_sample& sample);
  [[nodiscard]] trace::stack_id find_stack(recorded_process& process, const raw_sample& sample,
                                           trace::host_sample_event& row);

  trace::file_writer& file_;
  catalogue& names_;
  call_stacks& stacks_;
  const trace_clock& clock_;
  std::deque<waiting> waiting_;
  std::map<std::pair<const recorded_process*, std::uint64_t>, std::string> thread_names_;  ///< Of threads without rows.
  std::vector<std::uint64_t> python_, merged_;
};

}  // namespace sluice::writer
