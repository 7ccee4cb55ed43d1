#include "core/index/work/host_samples.hpp"

#include <tuple>

namespace sluice::index {
namespace {

bool is_earlier(const host_sample& a, const host_sample& b) {
  return std::tie(a.begin, a.event) < std::tie(b.begin, b.event);
}

}  // namespace

std::size_t host_work_hash::operator()(const host_work& work) const {
  // Fibonacci hashing of the stack, which differs most, with the other members mixed in.
  const std::uint64_t rest =
      (static_cast<std::uint64_t>(work.system_call) << 3U) ^ static_cast<std::uint64_t>(work.state);
  return static_cast<std::size_t>((raw(work.stack) ^ (rest << 40U)) * 0x9E3779B97F4A7C15ULL);
}

void host_samples::add(const std::vector<trace::host_sample_event>& rows) {
  for (const trace::host_sample_event& row : rows) {
    if (row.length < 0) ++malformed_;
    const time_ns begin = bounded(row.time);
    const time_ns length = std::clamp<time_ns>(row.length, 0, latest_time);
    last_thread_.in(threads_, {row.process, row.thread})
        .push_back(
            {begin, bounded(begin + length), row.state, row.stack, row.system_call, row.python_distance, row.id});
  }
}

void host_samples::settle() {
  for (auto& [thread, samples] : threads_) {
    if (!std::is_sorted(samples.begin(), samples.end(), is_earlier))
      std::sort(samples.begin(), samples.end(), is_earlier);
    for (std::size_t i = 1; i < samples.size(); ++i)
      samples[i - 1].end = std::min(samples[i - 1].end, samples[i].begin);
  }
}

}  // namespace sluice::index
