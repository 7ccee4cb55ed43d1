#include "core/metrics/verdict/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/verdict/cause_times.hpp"
#include "core/metrics/verdict/finding_title.hpp"

namespace sluice::metrics {
namespace {

/// From this share of the active time on, one-time work is worth mentioning.
constexpr double notable_start = 0.05;
/// From this share of the time on, idle time beside busy time is explained.
constexpr double notable_idle = 0.1;
constexpr std::size_t max_problems = 3;

/// What a device did in the time after start-up, as sums over all devices.
struct time_sums {
  double busy = 0;
  double only_copies = 0;
  double only_collectives = 0;
  std::array<double, gap_cause_count> causes{};
  double outside = 0;  ///< Before the first and after the last work of a device.
  double idle = 0;
};

bool is_problem(const finding& each) {
  return each.severity == trace::severity::error ||
         (each.severity == trace::severity::warning &&
          (each.saves.basis == saving_basis::none || each.kind == finding_kind::memory_grows));
}

class verdict_maker {
 public:
  verdict_maker(const report& subject, const trace::tables& tables) : of_(subject), tables_(tables) {}

  run_verdict make() {
    measure_time();
    find_step();
    find_memory();
    find_missing();
    find_slow_rank();
    find_opportunities();
    find_problems();
    out_.opportunity = describe_opportunities();
    write();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const device_idle* find_idle(trace::device_id device) const {
    for (const device_idle& each : of_.waste.idle_times)
      if (each.device == device) return &each;
    return nullptr;
  }

  void measure_time() {
    const double active = static_cast<double>(of_.whole.active.length());
    const double working = working_time(of_);
    out_.time = static_cast<time_ns>(working);
    out_.after_start_up = working < (1 - notable_start) * active;
    const auto& all = of_.whole.devices;
    any_kernel_ = std::any_of(all.begin(), all.end(), [](const device_activity& each) { return each.kernels > 0; });
    // Without kernels, copies are all that ran, if kernels would have been recorded.
    const bool only_copies = !any_kernel_ &&
                             has_mode([](auto mode) { return mode != trace::recording_mode::unknown; }) &&
                             !has_mode([](auto mode) { return mode == trace::recording_mode::memory; });
    for (const device_activity& each : all) {
      if (each.kernels == 0 && !(only_copies && each.copy_busy > 0)) continue;
      const device_idle* idle = find_idle(each.device);
      device_time one{each.device, 0, any_kernel_ ? each.copy_only : each.copy_busy,
                      idle == nullptr ? 0 : idle->collectives_alone};
      one.busy = std::max<time_ns>(each.busy - one.only_copies - one.only_collectives, 0);
      // Migrations are not the work of a stream, so they can lie outside of the active time.
      one.only_copies = std::clamp<time_ns>(out_.time - one.busy - one.only_collectives, 0, one.only_copies);
      out_.devices.push_back(one);
      sums_.busy += static_cast<double>(one.busy);
      sums_.only_copies += static_cast<double>(one.only_copies);
      sums_.only_collectives += static_cast<double>(one.only_collectives);
      sums_.idle += static_cast<double>(out_.get_idle(one));
      if (idle != nullptr) add_causes(*idle);
    }
    if (out_.devices.empty()) return;
    // The time before the first work counts, too, if the program already allocates.
    if (sums_.outside >= notable_start * working * static_cast<double>(out_.devices.size()))
      out_.after_start_up = false;
    find_idle_cause();
    find_bound();
  }

  /// Adds the causes of a device's idle time, without their one-time parts.
  void add_causes(const device_idle& idle) {
    const std::array<double, gap_cause_count> times = sum_recurring(idle, of_.waste);
    for (std::size_t i = 0; i < gap_cause_count; ++i) sums_.causes[i] += times[i];
    sums_.outside += static_cast<double>(std::max<time_ns>(of_.whole.active.length() - idle.span.length(), 0));
  }

  void find_idle_cause() {
    const auto most = std::max_element(sums_.causes.begin(), sums_.causes.end());
    if (*most <= 0 || *most < sums_.outside) return;
    out_.idle_cause = static_cast<gap_cause>(most - sums_.causes.begin());
    out_.idle_cause_time = static_cast<time_ns>(*most / static_cast<double>(out_.devices.size()));
  }

  void find_bound() {
    const std::array parts = {
        std::pair(sums_.busy, run_bound::kernels), std::pair(sums_.only_copies, run_bound::copies),
        std::pair(sums_.only_collectives, run_bound::waiting), std::pair(sums_.idle, run_bound::idle)};
    out_.bound = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
                   return a.first < b.first;
                 })->second;
    if (out_.bound == run_bound::idle && out_.idle_cause == gap_cause::launch) out_.bound = run_bound::launches;
  }

  void find_step() {
    for (const step_summary& each : of_.steps) {
      if (each.count == 0 || each.median_duration <= out_.step) continue;
      out_.step = each.median_duration;
      out_.steps = each.count;
      out_.steps_inferred = each.source == index::step_source::pattern;
    }
  }

  [[nodiscard]] std::uint64_t memory_of(trace::device_id device) const {
    const trace::device_row* row = tables_.devices.find(device);
    return row == nullptr ? 0 : row->memory_bytes;
  }

  void find_memory() {
    if (const memory_peak* peak = main_peak(of_); peak != nullptr) {
      out_.peak = peak->bytes;
      out_.peak_device = peak->device;
      out_.device_bytes = memory_of(peak->device);
    }
    const auto use = [&](trace::device_id device, std::uint64_t bytes, std::uint64_t all) {
      const double before = out_.used_of == 0 ? 0 : static_cast<double>(out_.used) / static_cast<double>(out_.used_of);
      if (device == trace::device_id::none || all == 0 || bytes > all ||
          static_cast<double>(bytes) / static_cast<double>(all) <= before)
        return;
      out_.used = bytes;
      out_.used_of = all;
    };
    for (const memory_statistics& each : of_.whole.memory)
      if (index::is_device_resident(each.kind)) use(each.device, each.maximum, memory_of(each.device));
    for (const untracked_statistics& each : of_.whole.untracked) use(each.device, each.used_maximum, each.device_bytes);
    out_.near_limit = out_.used_of > 0 &&
                      static_cast<double>(out_.used) >= run_verdict::nearly_full * static_cast<double>(out_.used_of);
  }

  /// True if any process was recorded in a mode for which `matches` returns true.
  template <class Matches>
  [[nodiscard]] bool has_mode(Matches&& matches) const {
    return std::any_of(of_.processes.begin(), of_.processes.end(),
                       [&](const process_metric& each) { return matches(each.mode); });
  }

  void find_missing() {
    if (!any_kernel_) {
      if (has_mode([](trace::recording_mode mode) { return mode == trace::recording_mode::memory; }))
        out_.missing.emplace_back("kernel times not recorded: use --mode timeline");
      else if (has_mode([](trace::recording_mode mode) { return mode != trace::recording_mode::unknown; }))
        out_.missing.emplace_back("no kernel ran");
      else
        out_.missing.emplace_back("kernel times not recorded");
    }
    if (out_.peak == 0)
      out_.missing.emplace_back(
          has_mode([](trace::recording_mode mode) { return mode != trace::recording_mode::unknown; })
              ? "no GPU memory was allocated"
              : "GPU memory not recorded");
    if (of_.simulated) out_.missing.emplace_back("simulated GPU: times are not real");
  }

  void find_slow_rank() {
    for (const finding& each : of_.findings)
      if (each.kind == finding_kind::rank_imbalance && each.rank >= 0 && each.saves.time > 0 &&
          each.saves.share >= run_verdict::worth_naming) {
        out_.slow_rank = each.rank;
        return;
      }
  }

  /// Errors are problems, not opportunities, so that the headline names them.
  [[nodiscard]] std::optional<std::size_t> find_largest(std::optional<bool> saves_time) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < of_.findings.size(); ++i) {
      const finding& each = of_.findings[i];
      if (each.severity == trace::severity::error || each.saves.basis == saving_basis::none ||
          each.saves.share < run_verdict::worth_naming || (saves_time && *saves_time != (each.saves.time > 0)))
        continue;
      if (!found || each.saves.share > of_.findings[*found].saves.share) found = i;
    }
    return found;
  }

  void find_opportunities() {
    out_.largest = find_largest(std::nullopt);
    if (out_.largest) out_.other = find_largest(of_.findings[*out_.largest].saves.time == 0);
  }

  void find_problems() {
    std::size_t more = 0;
    for (std::size_t i = 0; i < of_.findings.size(); ++i) {
      if (!is_problem(of_.findings[i])) continue;
      if (of_.findings[i].severity == trace::severity::error && error_.empty()) {
        error_ = get_title(of_.findings[i]);
      } else if (i != out_.largest && i != out_.other) {
        if (problems_.size() < max_problems)
          problems_.push_back(get_title(of_.findings[i]));
        else
          ++more;
      }
    }
    if (more > 0) problems_.push_back(fmt::format("And {}", format_some(more, "more problem")));
    const bool any_problem = std::any_of(of_.findings.begin(), of_.findings.end(), [](const finding& each) {
      return each.major || each.severity != trace::severity::info;
    });
    const bool all_busy = std::all_of(out_.devices.begin(), out_.devices.end(), [&](const device_time& each) {
      return out_.get_share(each.busy) >= run_verdict::busy;
    });
    out_.no_problem = !out_.largest && !any_problem && !out_.devices.empty() && all_busy && out_.used_of > 0 &&
                      !out_.near_limit && out_.missing.empty();
  }

  // --- words ---------------------------------------------------------------------------------------------------------

  /// Returns the shares of the devices, such as "45 %" or "12 % to 45 %".
  template <class Part>
  std::string share_of_devices(Part&& part) const {
    const auto [least, most] = std::minmax_element(out_.devices.begin(), out_.devices.end(),
                                                   [&](const auto& a, const auto& b) { return part(a) < part(b); });
    const std::string low = format_share(std::min(1.0, out_.get_share(part(*least))));
    const std::string high = format_share(std::min(1.0, out_.get_share(part(*most))));
    return low == high ? low : low + " to " + high;
  }

  /// Returns text such as "4 GPUs".
  [[nodiscard]] std::string gpus() const {
    return out_.devices.size() == 1 ? "GPU" : fmt::format("{} GPUs", format_count(out_.devices.size()));
  }

  void number(std::string value, std::string label, std::string in_sentence, std::vector<std::string>& parts) {
    out_.numbers.push_back({std::move(value), std::move(label)});
    parts.push_back(std::move(in_sentence));
  }

  /// Returns the sentence of numbers, and sets `run_verdict::numbers`.
  std::string numbers() {
    std::vector<std::string> parts;
    if (!out_.devices.empty()) {
      // The GPU can have worked for a moment of a long step.
      const std::string_view start = out_.step > out_.time ? " between its first and last work"
                                     : out_.after_start_up ? " after start-up"
                                                           : "";
      const std::string busy = share_of_devices([](const auto& each) { return each.busy; });
      if (any_kernel_)
        number(busy, fmt::format("{} busy{}", gpus(), start), fmt::format("{} {} busy{}", gpus(), busy, start), parts);
      const double all = static_cast<double>(out_.time) * static_cast<double>(out_.devices.size());
      const auto also = [&](double sum, const std::string& share, const char* label) {
        if (sum >= run_verdict::worth_naming * all) number(share, label, fmt::format("{} {}", share, label), parts);
      };
      also(sums_.only_copies, share_of_devices([](const auto& each) { return each.only_copies; }), "only copying");
      also(sums_.only_collectives, share_of_devices([](const auto& each) { return each.only_collectives; }),
           "only in collectives");
    }
    if (out_.step > 0) {
      const std::string step = format_time(out_.step);
      const std::string_view inferred = out_.steps_inferred ? " (inferred)" : "";
      number(step, fmt::format("a step, median of {}{}", format_count(out_.steps), inferred),
             fmt::format("{} a step{}", step, inferred), parts);
    }
    if (out_.peak > 0) {
      const std::string peak = format_bytes(out_.peak);
      std::string rest;
      if (out_.device_bytes >= out_.peak) rest += " of " + format_bytes(out_.device_bytes);
      if (out_.devices.size() > 1 && out_.peak_device != trace::device_id::none)
        rest += " on " + index::short_label(out_.peak_device, tables_);
      number(peak, "peak" + rest, fmt::format("peak {}{}", peak, rest), parts);
    }
    if (out_.near_limit) {
      const std::string used = format_bytes(out_.used), all = format_bytes(out_.used_of);
      number(used, fmt::format("of {} in use", all), fmt::format("GPU memory nearly full ({} of {})", used, all),
             parts);
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  /// Returns the share of one part of the time, as a mean over the devices.
  [[nodiscard]] std::string share_words(double sum) const {
    const double all = static_cast<double>(out_.time) * static_cast<double>(out_.devices.size());
    return format_share(std::min(1.0, all > 0 ? sum / all : 0));
  }

  /// Returns how the devices spend the time between their first and last work, if most of the time lies outside of it,
  /// where the program only starts or ends.
  [[nodiscard]] std::string describe_worked_time() const {
    const bool one = out_.devices.size() == 1;
    const double count = static_cast<double>(out_.devices.size());
    const double worked = static_cast<double>(out_.time) * count - sums_.outside;
    const auto share = [&](double part) { return format_share(std::min(1.0, worked > 0 ? part / worked : 0)); };
    std::string text =
        fmt::format("Between {} first and last work ({} of {}), {} {} {} busy", one ? "its" : "their",
                    format_time(static_cast<time_ns>(std::max(worked, 0.0) / count)), format_time(out_.time),
                    one ? "the GPU" : "the GPUs", one ? "is" : "are", share(sums_.busy));
    if (sums_.only_copies >= run_verdict::worth_naming * worked)
      text += fmt::format(" and {} only copying", share(sums_.only_copies));
    const auto most = std::max_element(sums_.causes.begin(), sums_.causes.end());
    if (*most >= notable_idle * worked)
      text += fmt::format("; idle time: mostly {}", get_words(static_cast<gap_cause>(most - sums_.causes.begin())));
    return text + fmt::format("; before and after, {} no work ({} of the time)", one ? "it has" : "they have",
                              share_words(sums_.outside));
  }

  [[nodiscard]] std::string describe_idle() const {
    const bool one = out_.devices.size() == 1;
    const std::string_view who = one ? "The GPU" : "The GPUs";
    if (!out_.idle_cause)
      return sums_.outside > 0
                 ? describe_worked_time()
                 : fmt::format("{} {} idle {} of the time", who, one ? "is" : "are", share_words(sums_.idle));
    const std::string share = share_words(sums_.causes[static_cast<std::size_t>(*out_.idle_cause)]);
    if (*out_.idle_cause == gap_cause::queued)
      return fmt::format("{} {} idle between pieces of work that are queued ({} of the time)", who, one ? "is" : "are",
                         share);
    return fmt::format("{} {} for the host: {} ({} of the time)", who, one ? "waits" : "wait",
                       get_words(*out_.idle_cause), share);
  }

  /// Returns what bounds the run; empty if that is unknown.
  [[nodiscard]] std::string describe_bound() const {
    switch (out_.bound) {
      case run_bound::unknown:
        return {};
      case run_bound::kernels: {
        const double all = static_cast<double>(out_.time) * static_cast<double>(out_.devices.size());
        std::string text = sums_.busy >= 0.5 * all
                               ? fmt::format("Kernels bound the run ({} of the time)", share_words(sums_.busy))
                               : fmt::format("Kernels take the largest part of the time ({})", share_words(sums_.busy));
        if (sums_.idle >= notable_idle * all && out_.idle_cause)
          text += fmt::format("; idle time: mostly {}", get_words(*out_.idle_cause));
        return text;
      }
      case run_bound::copies:
        if (!any_kernel_) return fmt::format("Only copies run ({} of the time)", share_words(sums_.only_copies));
        return fmt::format("{} for copies ({} of the time)",
                           out_.devices.size() == 1 ? "The GPU waits" : "The GPUs wait",
                           share_words(sums_.only_copies));
      case run_bound::waiting:
        return fmt::format("The GPUs wait {} in collectives ({} of the time)",
                           out_.slow_rank >= 0 ? fmt::format("for rank {}", out_.slow_rank) : "for each other",
                           share_words(sums_.only_collectives));
      case run_bound::launches:
      case run_bound::idle:
        return describe_idle();
    }
    return {};
  }

  [[nodiscard]] std::string describe(std::size_t finding) const {
    const metrics::finding& subject = of_.findings[finding];
    const std::string saves = describe_saving(subject.saves);
    return saves.empty() ? get_title(subject) : fmt::format("{}, saves {}", get_title(subject), saves);
  }

  [[nodiscard]] std::string describe_opportunities() const {
    if (!out_.largest) return {};
    std::string text = "Largest opportunity: " + describe(*out_.largest);
    if (out_.other)
      text += fmt::format(". {}: {}", of_.findings[*out_.other].saves.time > 0 ? "In time" : "In memory",
                          describe(*out_.other));
    return text;
  }

  void say(std::string_view sentence) {
    if (sentence.empty()) return;
    if (!out_.text.empty()) out_.text += ' ';
    const std::size_t begin = out_.text.size();
    out_.text += sentence;
    if (char& first = out_.text[begin]; first >= 'a' && first <= 'z') first = static_cast<char>(first - 'a' + 'A');
    out_.text += '.';
  }

  void write() {
    const std::string bound = describe_bound();
    // The title of a lack of memory, and the sum behind it.
    if (error_.starts_with("Out of memory") && !of_.out_of_memory.empty()) {
      std::string sum = of_.out_of_memory.front().shortage;
      if (!sum.empty()) sum.front() = 's';
      say("Out of memory: " + sum);
    } else {
      say(error_);
    }
    say(numbers());
    say(bound);
    if (out_.slow_rank >= 0 && out_.bound != run_bound::waiting)
      say(fmt::format("Rank {} is slower than the others", out_.slow_rank));
    for (const std::string& each : problems_) say(each);
    say(out_.opportunity);
    if (out_.no_problem)
      say("No problem found");
    else if (out_.opportunity.empty() && error_.empty() && problems_.empty() &&
             (!out_.devices.empty() || out_.peak > 0))
      say("No finding saves more than 3 %");
    say(fmt::format("{}", fmt::join(out_.missing, "; ")));
    out_.headline = !error_.empty()        ? error_
                    : out_.no_problem      ? "No problem found: " + bound
                    : !bound.empty()       ? bound
                    : !problems_.empty()   ? problems_.front()
                    : out_.largest         ? get_title(of_.findings[*out_.largest])
                    : out_.numbers.empty() ? "No GPU work was recorded"
                                           : "No finding saves more than 3 %";
  }

  const report& of_;
  const trace::tables& tables_;
  run_verdict out_;
  time_sums sums_;
  bool any_kernel_ = false;
  std::string error_;                  ///< The title of the first error.
  std::vector<std::string> problems_;  ///< Titles of further errors and of warnings whose cost has no bound.
};

}  // namespace

std::string_view get_word(run_bound bound) {
  switch (bound) {
    case run_bound::unknown:
      break;
    case run_bound::kernels:
      return "kernels";
    case run_bound::launches:
      return "launches";
    case run_bound::copies:
      return "copies";
    case run_bound::waiting:
      return "waiting";
    case run_bound::idle:
      return "idle";
  }
  return "unknown";
}

run_verdict make_verdict(const report& subject, const trace::tables& tables) {
  return verdict_maker(subject, tables).make();
}

}  // namespace sluice::metrics
