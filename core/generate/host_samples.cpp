#include "core/generate/host_samples.hpp"

#include <algorithm>

#include "core/generate/program.hpp"

namespace sluice::generate {

void host_samples::add(const operation& o, time_range span) {
  if (!common_.options.samples_hosts()) return;
  if (until_ < 0) until_ = span.begin;
  const bool only_host = o.work == work_kind::none && o.stack != 0;
  if (only_host && last_ != nullptr) add_until(*last_, span.begin);
  if (only_host || span.end - until_ >= period) add_until(o, span.end);
  last_ = &o;
}

void host_samples::add_until(const operation& o, trace::time_ns until) {
  while (until_ < until) {
    trace::host_sample_event row;
    row.time = until_;
    row.process = process_;
    row.thread = o.autograd ? autograd_ : main_;
    row.length = std::min(period, until - until_);
    row.state = o.state;
    row.system_call = o.system_call;
    row.stack = common_.stack(o.autograd ? common_.described.autograd_stack : o.stack);
    common_.rows.now(row);
    until_ += row.length;
  }
}

}  // namespace sluice::generate
