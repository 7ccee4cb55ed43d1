#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "instrumentation/writer/sampling/host_sampler.hpp"
#include "instrumentation/writer/session/client_list.hpp"
#include "instrumentation/writer/session/warning_list.hpp"

namespace sluice::writer {

/// Connects a session with the sampler of host threads: says which processes to sample, and takes the samples. Used by
/// the writer thread only.
class session_sampling {
 public:
  /// `hz`: samples per second of CPU time; 0: no sampling.
  session_sampling(record_decoder& rows, client_list& clients, warning_list& warnings, unsigned hz);

  /// Call in each turn, before the records of the turn are processed.
  void take_turn();
  /// Ends the sampling, takes what is left and says what is missing. Call before the file ends.
  void finish();
  /// Ends the sampling without using memory for the rest.
  void abandon() { sampler_.reset(); }

 private:
  void follow_processes();
  void take_samples();
  [[nodiscard]] recorded_process* find_process(const raw_sample& sample);
  template <class Declaration>
  void claim(std::vector<Declaration>& unclaimed);
  void report_losses();

  /// What was handed on of a process.
  struct followed {
    std::uint64_t recorder_threads_version = 0;
    bool paused = false;
  };

  record_decoder& rows_;
  client_list& clients_;
  warning_list& warnings_;
  std::unique_ptr<host_sampler> sampler_;       ///< Null: no sampling.
  std::map<std::uint64_t, followed> followed_;  ///< By pid.
  std::vector<raw_module> unclaimed_modules_;
  std::vector<raw_name> unclaimed_names_;  ///< Of processes that have no row yet.
  std::vector<raw_thread> unclaimed_threads_;
};

}  // namespace sluice::writer
