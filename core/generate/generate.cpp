#include "core/generate/generate.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "core/base/files/scratch_file.hpp"
#include "core/generate/program.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::generate {
namespace {

constexpr std::uint32_t max_processes = 64;
constexpr std::uint64_t checkpoint_every = 65'536;  // This is the same interval as in the collector.
constexpr time_ns anchor_period = 1'000'000'000;
constexpr std::int64_t epoch = 1'700'000'000'000'000'000;

/// True if a rank that is not in the recording determines when collectives end.
bool waits_for_unseen(const generate_options& o) {
  const std::int64_t first = o.number_of_first();
  return o.pattern == program_pattern::training && o.is_job() && o.slow_rank >= 0 &&
         (o.slow_rank < first || o.slow_rank >= first + o.processes);
}

class generator_run {
 public:
  /// `unseen`: if the job's slow rank is recorded elsewhere, the file that receives the names of that rank. The other
  /// ranks still wait for it.
  generator_run(trace::file_writer& file, trace::file_writer* unseen, const model& m, const generate_options& options)
      : common_(file, m, options), elsewhere_(options) {
    trace::host_row host;
    host.id = trace::host_id{1};
    host.name = file.intern("generated");
    host.system = file.intern("sluice generate");
    file.add(host);
    add_anchor(0);
    for (std::uint32_t i = 0; i < options.processes; ++i)
      programs_.emplace_back(common_, i, options.number_of_first() + i);
    if (unseen == nullptr) return;
    elsewhere_.kept_blocks = 0;
    unseen_common_.emplace(*unseen, m, elsewhere_, false);
    unseen_.emplace(*unseen_common_, 0, options.slow_rank);
  }

  /// Runs until there are `events` events. Errors: cancelled.
  result<void> until(std::uint64_t events, const long_task& task, const std::string& path) {
    while (!failed_) {  // If a write has failed (a full disk), closing the file reports the error.
      program* next = nullptr;
      for_each_of_job([&](program& p) {
        if (!p.waiting() && (next == nullptr || p.now() < next->now())) next = &p;
      });
      if (next == nullptr) {
        resume_all();
        if (file().events() >= events) break;
        continue;
      }
      next->advance();
      if (unseen_ && next == &*unseen_) continue;
      if (next->deliver()) {
        sample(next->now());
        const double share =
            static_cast<double>(file().events()) / static_cast<double>(std::max<std::uint64_t>(events, 1));
        if (auto on = task.go_on(std::min(share, 1.0), path); !on) return on;
      }
      if (programs_.size() == 1 && next->between_steps()) {
        consider_checkpoint();
        if (file().events() >= events) break;
      }
    }
    common_.rows.finish();
    for (program& p : programs_) p.finish();
    write_checkpoint();
    return {};
  }

 private:
  [[nodiscard]] trace::file_writer& file() { return common_.rows.file(); }

  template <class Visit>
  void for_each_of_job(Visit&& visit) {
    for (program& p : programs_) visit(p);
    if (unseen_) visit(*unseen_);
  }

  void resume_all() {
    time_ns ready = 0;
    time_ns host = 0;
    for_each_of_job([&](const program& p) {
      ready = std::max(ready, p.ready());
      host = std::max(host, p.now());
    });
    // All processes are at the same time now, so the set of live blocks is known.
    consider_checkpoint();
    for_each_of_job([&](program& p) { p.resume(ready, host); });
  }

  void sample(time_ns time) {
    for (; next_anchor_ <= time; next_anchor_ += anchor_period) add_anchor(next_anchor_);
    for (program& p : programs_) p.sample(time);
    failed_ = !common_.rows.file().flush();
  }

  void add_anchor(time_ns time) {
    trace::clock_anchor_event anchor;
    anchor.time = time;
    anchor.monotonic = 23'876'386'175 + time;
    anchor.realtime = epoch + time;
    anchor.tsc = 52'471'193'013 + static_cast<std::uint64_t>(time) * 21 / 10;
    common_.rows.now(anchor);
  }

  void consider_checkpoint() {
    std::uint64_t live = 0;
    for (const program& p : programs_) live += p.live_blocks();
    const std::uint64_t since = file().events() - last_checkpoint_;
    if (since >= checkpoint_every && since >= 8 * live) write_checkpoint();
  }

  void write_checkpoint() {
    trace::checkpoint_event checkpoint;
    checkpoint.id = file().next_event();
    for (const program& p : programs_) {
      checkpoint.time = std::max(checkpoint.time, p.now());
      checkpoint.blocks += p.live_blocks();
    }
    common_.rows.now(checkpoint);
    for (program& p : programs_) p.write_live(checkpoint.id, checkpoint.time);
    last_checkpoint_ = file().events();
  }

  common_state common_;
  std::deque<program> programs_;
  generate_options elsewhere_;
  std::optional<common_state> unseen_common_;
  std::optional<program> unseen_;
  time_ns next_anchor_ = anchor_period;
  std::uint64_t last_checkpoint_ = 0;
  bool failed_ = false;
};

}  // namespace

result<generated> generate(const generate_options& options, const std::string& path, const long_task& task) {
  if (options.processes == 0 || options.processes > max_processes) {
    return fail(error_code::invalid_argument, std::to_string(options.processes) + " processes cannot be generated",
                path, "ask for 1 to 64");
  }
  if (options.kept_stacks == 0)
    return fail(error_code::invalid_argument, "blocks are kept from no call stack", path, "ask for at least one");
  const model subject =
      options.pattern == program_pattern::training ? training_model(options.stacks) : inference_model(options.stacks);
  trace::writer_options writer_options;
  writer_options.realtime_origin = epoch;
  auto file = trace::file_writer::create_unpublished(path, writer_options);
  if (!file) return tl::unexpected<error>(file.error());
  std::optional<trace::file_writer> unseen;
  if (waits_for_unseen(options)) {
    const auto scratch = scratch_file::make();
    if (!scratch) return tl::unexpected<error>(scratch.error());
    auto other = trace::file_writer::create(*scratch, writer_options);
    if (!other) return tl::unexpected<error>(other.error());
    unseen = std::move(*other);
  }
  if (auto output =
          generator_run(*file, unseen ? &*unseen : nullptr, subject, options).until(options.events, task, path);
      !output)
    return tl::unexpected<error>(output.error());
  unseen.reset();
  const std::uint64_t events = file->events();
  const auto closed = summary::finalize(*file, {.cancel = task.cancelled});
  if (!closed) return tl::unexpected<error>(closed.error());
  if (auto on = task.go_on(1, path); !on) return tl::unexpected<error>(on.error());
  if (auto published = file->publish(); !published) return tl::unexpected<error>(published.error());
  return generated{events, file->bytes_written()};
}

}  // namespace sluice::generate
