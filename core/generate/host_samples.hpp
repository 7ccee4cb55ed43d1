#pragma once

#include "core/base/time/time_range.hpp"
#include "core/generate/model.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::generate {

struct common_state;

/// Adds samples of the two host threads of a process that launch work (`generate_options::host_samples`). Only one of
/// the threads runs at a time.
class host_samples {
 public:
  /// `common` must outlive this object.
  host_samples(common_state& common, trace::process_id process, trace::thread_id main, trace::thread_id autograd)
      : common_(common), process_(process), main_(main), autograd_(autograd) {}

  /// Notes that a thread ran `o` in `span`, and adds the samples that are due, if any are wanted. Calls must be in order
  /// of time, and `o` must outlive the next call.
  void add(const operation& o, time_range span);

  /// The longest time for which one sample stands.
  static constexpr trace::time_ns period = 10'000'000;

 private:
  /// Adds samples that say that a thread has run `o` since the last ones.
  void add_until(const operation& o, trace::time_ns until);

  common_state& common_;
  trace::process_id process_;
  trace::thread_id main_, autograd_;
  trace::time_ns until_ = -1;        ///< The end of the last sample; -1: there is none.
  const operation* last_ = nullptr;  ///< The operation of the last call.
};

}  // namespace sluice::generate
