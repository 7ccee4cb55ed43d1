#include "instrumentation/writer/session/session_sampling.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "instrumentation/writer/sampling/proc_files.hpp"

namespace sluice::writer {

session_sampling::session_sampling(record_decoder& rows, client_list& clients, warning_list& warnings, unsigned hz)
    : rows_(rows), clients_(clients), warnings_(warnings) {
  if (hz == 0) return;
  sampler_ = host_sampler::start({.hz = hz});
  if (!sampler_) warnings_.add("host threads are not sampled: no thread or descriptor was left for the sampler");
}

void session_sampling::take_turn() {
  if (!sampler_) return;
  follow_processes();
  take_samples();
}

void session_sampling::follow_processes() {
  clients_.for_each_living([&](std::uint64_t pid, const recorded_process& process) {
    const auto its = static_cast<pid_t>(pid);
    const std::uint64_t version = process.recorder_threads_version;
    const auto [known, fresh] = followed_.try_emplace(pid);
    followed& handed_on = known->second;
    if (fresh) sampler_->watch(its);
    if (std::exchange(handed_on.recorder_threads_version, version) != version)
      sampler_->leave_out(its, {process.recorder_threads.begin(), process.recorder_threads.end()});
    if (std::exchange(handed_on.paused, process.sampling_paused) != process.sampling_paused)
      sampler_->pause(its, process.sampling_paused);
  });
}

/// A descendant that records nothing gets a row of its own once it has used a CPU. A sleeping helper gets none.
recorded_process* session_sampling::find_process(const raw_sample& sample) {
  const auto pid = static_cast<std::uint64_t>(sample.pid);
  recorded_process* const known = clients_.find_process(pid);
  if (known != nullptr || !used_cpu(sample)) return known;
  clients_.add_command(pid, read_command(sample.pid));
  return clients_.find_process(pid);
}

/// Declares what belongs to processes that have a row; the rest stays.
template <class Declaration>
void session_sampling::claim(std::vector<Declaration>& unclaimed) {
  constexpr std::size_t most = 65536;
  std::erase_if(unclaimed, [&](const Declaration& each) {
    recorded_process* const process = clients_.find_process(static_cast<std::uint64_t>(each.pid));
    if (process != nullptr) rows_.samples().define(*process, each);
    return process != nullptr;
  });
  if (unclaimed.size() > most) unclaimed.erase(unclaimed.begin(), unclaimed.end() - most / 2);
}

void session_sampling::take_samples() {
  host_sampler::batch batch = sampler_->take();
  // Modules and threads are declared for known processes only. So processes are found first.
  std::vector<recorded_process*> owners;
  owners.reserve(batch.samples.size());
  for (const raw_sample& sample : batch.samples) owners.push_back(find_process(sample));
  for (const raw_module& module : batch.modules) unclaimed_modules_.push_back(module);
  for (const raw_thread& thread : batch.threads) unclaimed_threads_.push_back(thread);
  for (raw_name& name : batch.names) unclaimed_names_.push_back(std::move(name));
  claim(unclaimed_modules_);
  claim(unclaimed_names_);
  claim(unclaimed_threads_);
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    if (owners[i] != nullptr) rows_.samples().add(*owners[i], std::move(batch.samples[i]));
  }
}

void session_sampling::finish() {
  if (!sampler_) return;
  sampler_->stop();
  take_samples();
  report_losses();
  sampler_.reset();
}

void session_sampling::report_losses() {
  const sampler_losses lost = sampler_->losses();
  if (lost.perf_error != 0) {
    rows_.add_message(
        trace::severity::info,
        "the kernel refused to sample host threads (perf_event_open: " + describe_errno(lost.perf_error) +
            "): their states were polled, and native stacks are those of waiting threads only; see sluice "
            "doctor");
  }
  if (lost.threads_polled != 0) {
    rows_.add_message(trace::severity::info, format_count(lost.threads_polled) +
                                                 " host threads were polled instead of sampled (see the kernel's limit "
                                                 "/proc/sys/kernel/perf_event_mlock_kb)");
  }
  if (lost.lowest_hz != 0) {
    rows_.add_message(trace::severity::info, "host threads were sampled " + std::to_string(lost.lowest_hz) +
                                                 " times a second only, because many ran at once");
  }
  if (lost.records + lost.samples != 0) {
    warnings_.add("samples of host threads are missing: " + format_count(lost.records) +
                  " records of the kernel were lost, and " + format_count(lost.samples) + " samples were dropped");
  }
  if (lost.threads_left_out != 0) {
    warnings_.add(format_count(lost.threads_left_out) +
                  " host threads were not sampled: there were too many threads or too few descriptors (ulimit -n)");
  }
}

}  // namespace sluice::writer
