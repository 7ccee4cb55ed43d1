#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/findings/waits/descriptor.hpp"
#include "core/metrics/findings/waits/thresholds.hpp"
#include "core/metrics/host_causes/describe.hpp"
#include "core/metrics/host_causes/host_remedies.hpp"

/// Findings about intervals in which a device was idle, and what the host did meanwhile.
namespace sluice::metrics {
namespace {

struct gaps {
  std::uint64_t count = 0;
  time_ns total = 0;
  time_ns recurring = 0;
  time_ns saved = 0;
  std::uint64_t spread = 0;
  const gap_group* longest = nullptr;
  std::vector<saved_part> parts;

  explicit gaps(const std::vector<const gap_group*>& groups) {
    for (const gap_group* each : groups) {
      parts.push_back(finder::part_of(*each));
      count += each->count;
      total += each->total;
      recurring += each->recurring;
      saved += each->saved;
      spread = std::max(spread, each->spread);
      if (longest == nullptr || each->longest > longest->longest) longest = each;
    }
  }
};

std::string_view get_launch_advice(const std::string& maker) {
  if (maker == "PyTorch")
    return "Launch less often: torch.compile(model, mode=\"reduce-overhead\") merges kernels and replays them as CUDA "
           "graphs; torch.cuda.graph() captures a loop with fixed shapes; optimizers have fused=True; larger batches "
           "give each kernel more work.";
  if (maker == "CuPy")
    return "Launch less often: merge element-wise kernels (cupy.fuse), or capture the loop as a CUDA graph "
           "(stream.begin_capture()).";
  if (maker == "JAX") return "Launch less often: put the whole step, or the loop with lax.scan, under one jax.jit.";
  return "Launch less often: capture the loop as a CUDA graph (cudaStreamBeginCapture), or merge small kernels.";
}

std::string_view advice_for(gap_cause cause, const std::string& maker) {
  switch (cause) {
    case gap_cause::wait:
    case gap_cause::blocking_copy:
      if (maker == "PyTorch")
        return "Read results less often: keep losses on the GPU (loss.detach()) and call .item() every N steps; avoid "
               "torch.cuda.synchronize(), .cpu() and Python conditions on GPU values in the loop.";
      if (maker == "CuPy") return "Read results less often: no float(), .get() or synchronize() in the loop.";
      if (maker == "JAX")
        return "Read results less often: no float(), np.asarray() or block_until_ready() in the loop.";
      return "Wait less often, or on CUDA events, so that the host can launch work ahead.";
    case gap_cause::allocation:
    case gap_cause::release:
      return "Allocate before the loop, or from a pool (cudaMallocAsync), and free after the loop.";
    case gap_cause::loading:
      return "Compile, load or capture before the loop: use a warm-up pass, fixed shapes, a cache of compiled code.";
    case gap_cause::file:
      return "Read ahead on another thread, and write while the GPU works.";
    case gap_cause::garbage:
      return "Collect less often: gc.freeze() after setup, to exclude the objects created so far; or gc.disable() and "
             "gc.collect() every N steps; and create fewer objects that refer to one another.";
    case gap_cause::compilation:
      return "Compile before the loop, and find the causes of recompilation (TORCH_LOGS=recompiles): changing shapes "
             "(mark_dynamic), changing Python values.";
    case gap_cause::data:
      return "Load ahead: more workers (num_workers), prefetch_factor, persistent_workers=True, less work per sample, "
             "or transforms on the GPU.";
    case gap_cause::lock:
      return "See in the timeline what the other threads do in the gaps. Let the awaited thread work ahead (queue more "
             "than one item), hold the lock for less time, or give each thread its own data.";
    case gap_cause::gil:
      return "Move the work of the other Python threads to processes (multiprocessing, DataLoader(num_workers=...)), "
             "or to code that releases the GIL (NumPy, PyTorch).";
    case gap_cause::launch:
      return get_launch_advice(maker);
    case gap_cause::queued:
    case gap_cause::host:
      break;
  }
  return "See in the timeline what the host threads do in the gaps. Prepare data on other threads or "
         "in other processes (PyTorch: DataLoader(num_workers=...)), and keep the host ahead of the GPU.";
}

/// Returns the case of the fixes (`code_fix::when`). `call`: the driver's function in which the host waited, or empty.
std::string_view case_of(gap_cause cause, std::string_view call) {
  switch (cause) {
    case gap_cause::blocking_copy:
      if (call.find("HtoD") != std::string_view::npos) return "copies to the GPU";
      return call.find("DtoH") != std::string_view::npos ? "copies from the GPU" : "";
    case gap_cause::allocation:
    case gap_cause::release:
      return "allocations";
    case gap_cause::launch:
      return "launches";
    case gap_cause::garbage:
      return "garbage";
    case gap_cause::compilation:
      return "compilation";
    case gap_cause::data:
      return "data";
    default:
      return {};
  }
}

finding_kind get_kind(gap_cause cause) {
  if (cause == gap_cause::wait) return finding_kind::frequent_waits;
  if (cause == gap_cause::blocking_copy || cause == gap_cause::release || cause == gap_cause::allocation)
    return finding_kind::hidden_waits;
  return finding_kind::idle_gaps;
}

/// Adds the copies of the calls that blocked the host to the parts of `f`: a copy that does not block also ends the gap
/// behind it. `call`: the driver's function.
void add_copies(const finder& in, finding& f, std::string_view call) {
  const bool up = call.find("HtoD") != std::string_view::npos, down = call.find("DtoH") != std::string_view::npos;
  std::vector<saved_part> found;
  for (const copy_group& each : in.whole.waste.copies)
    if (up != down && each.stack != trace::stack_id::none &&
        each.direction == (up ? trace::direction::h2d : trace::direction::d2h) &&
        std::any_of(f.parts.begin(), f.parts.end(),
                    [&](const saved_part& gap) { return gap.device == each.device && gap.stack == each.stack; }))
      found.push_back(finder::part_of(each));
  f.parts.insert(f.parts.end(), found.begin(), found.end());
}

/// Returns text such as "85.2 ms (11 % of the time after start-up) in 593 gaps". The longest gaps of a line count as
/// one-time work, which is not part of the time after start-up.
std::string describe_idle(const finder& in, const gaps& subject) {
  const std::string count = format_some(subject.count, "gap");
  const time_ns once = subject.total - subject.recurring;
  if (subject.recurring <= 0)
    return fmt::format("{} in {}, as one-time work such as start-up", format_time(subject.total), count);
  std::string text = fmt::format("{} ({}) in {}", format_time(subject.recurring),
                                 in.share_of_time(static_cast<double>(subject.recurring)), count);
  if (once > 0) text += fmt::format(", without the longest of them, {} of one-time work", format_time(once));
  return text;
}

/// `saved_by_all`: the saving of all lines with this cause. If only this is a major saving, the finding of the line
/// with the largest saving stands for all lines.
void tell(finder& in, gap_cause cause, trace::device_id device, const code_place& place, const gaps& subject,
          const gaps& all_lines) {
  const time_ns saved_by_all = all_lines.saved;
  if (static_cast<double>(std::max(subject.total, subject.saved)) < reported_idle_share * in.working) return;
  const std::string_view call = in.tables.text(subject.longest->call);
  const std::string where = to_text(place);
  std::string text =
      fmt::format("{} was idle for {}: {}", in.gpu(device), describe_idle(in, subject), get_words(cause));
  if (!call.empty()) text += fmt::format(" ({})", call);
  if (!where.empty()) text += (subject.longest->stack_is_next && call.empty() ? ", before " : ", at ") + where;
  const std::string_view range = in.tables.text(subject.longest->range);
  text += fmt::format(
      ". The longest took {}{}.", format_time(subject.longest->longest),
      range.empty() ? std::string() : fmt::format(", in the range \"{}\"", shortened(std::string(range), 60)));
  const bool host = get_kind(cause) == finding_kind::idle_gaps;
  if (!host && subject.saved > subject.recurring)
    text +=
        " The saving is larger than the idle time, because the fix also ends the wait behind it: the host can then "
        "launch ahead.";
  finding& f = in.add(get_kind(cause), std::move(text), std::string(advice_for(cause, place.maker)));
  f.saves = in.time(static_cast<double>(subject.saved), host ? saving_basis::measured : saving_basis::modelled);
  f.range = subject.longest->longest_gap;
  f.where = place;
  f.detail = get_words(cause);
  f.parts = subject.parts;
  if (f.kind == finding_kind::frequent_waits) in.set_fix(f, frequent_waits_fixes);
  if (f.kind == finding_kind::hidden_waits) in.set_fix(f, hidden_waits_fixes, case_of(cause, call));
  if (f.kind == finding_kind::idle_gaps) in.set_fix(f, idle_gaps_fixes, case_of(cause, call));
  // A single gap is due to startup, saving or a transition.
  const bool recurs = subject.count >= min_recurring && subject.spread >= min_spread;
  // Caching allocators stop allocating once they have enough memory, and do not free it. Code that allocates in a loop
  // also frees.
  // In short gaps, the program simply gives the device little work at a time.
  const bool short_host =
      cause == gap_cause::host && subject.recurring < static_cast<time_ns>(subject.count) * short_host_gap;
  f.only_note = !recurs || is_of_others(place) || cause == gap_cause::allocation || short_host;
  if (!f.only_note && f.saves.share < warned_time_share && subject.saved < saved_by_all &&
      in.time(static_cast<double>(saved_by_all), saving_basis::modelled).share >= warned_time_share) {
    f.text += fmt::format(" This line alone would save {}; the saving is that of all lines of the same kind.",
                          format_time(f.saves.time));
    f.saves = in.time(static_cast<double>(saved_by_all), f.saves.basis);
    f.parts = all_lines.parts;
  }
  if (cause == gap_cause::blocking_copy) add_copies(in, f, call);
}

/// Reports work that the host launches more slowly than the device runs it.
void tell_launches(finder& in, const device_idle& device) {
  const launch_rate& launches = device.launches;
  std::vector<const gap_group*> groups;
  for (const gap_group& each : in.whole.waste.gaps)
    if (each.device == device.device && each.cause == gap_cause::launch) groups.push_back(&each);
  if (groups.empty() || launches.launches == 0) return;
  if (static_cast<double>(launches.idle) < reported_idle_share * in.working) return;
  const auto lines = by_line(groups, in.places, [](const gap_group& each) { return each.total; });
  std::string text =
      fmt::format("{} was idle for {} ({}): {}. {} at {} each against {} of GPU work", in.gpu(device.device),
                  format_time(launches.idle), in.share_of_time(static_cast<double>(launches.idle)),
                  get_words(gap_cause::launch), format_count(launches.launches) + " launches",
                  format_time(launches.period()), format_time(launches.work_per_launch()));
  constexpr std::size_t max_lines = 3;
  std::string places;
  for (std::size_t i = 0; i < std::min(lines.size(), max_lines); ++i)
    if (const std::string place = to_text(lines[i].first); !place.empty())
      places += (places.empty() ? "" : ", ") + place;
  text += places.empty() ? "." : ", most near " + places + ".";
  const code_place& place = lines.front().first;
  finding& f = in.add(finding_kind::idle_gaps, std::move(text), std::string(get_launch_advice(place.maker)));
  f.saves = in.time(static_cast<double>(launches.saved), saving_basis::modelled);
  f.range = device.span;
  f.where = place;
  f.detail = get_words(gap_cause::launch);
  in.set_fix(f, idle_gaps_fixes, case_of(gap_cause::launch, {}));
  f.parts = gaps(groups).parts;
  // Whether a program's launches can be merged is not known, and the saving is a model's upper bound.
  f.only_note = true;
}

/// Returns what to change, and sets `code` to the change as code.
std::string get_host_advice(const host_cause_group& group, const program_traits& traits, std::string& code) {
  const auto remedy = find_host_remedy(group.cause.reason, traits, group.recurs);
  if (!remedy) return std::string(advice_for(gap_cause::host, traits.pytorch ? "PyTorch" : ""));
  code = remedy->code;
  return std::string(remedy->text);
}

/// Returns how long the device waited for host code after start-up, in ns.
time_ns recurring_host_time(const finder& in, trace::device_id device) {
  time_ns total = 0;
  for (const gap_group& each : in.whole.waste.gaps)
    if (each.device == device && each.cause == gap_cause::host) total += each.recurring;
  return total;
}

/// Reports what the host did for `group`. `most`: how long the device waited for host code after start-up.
finding& tell_sample(finder& in, const device_idle& device, const host_cause_group& group, time_ns most) {
  // The longest wait of a cause counts as one-time work, like the longest gaps.
  const time_ns saved = group.recurs ? std::min(group.total - group.longest, most) : 0;
  const std::string line = describe_line(group.cause, in.tables);
  std::string text =
      fmt::format("{} was idle for {} in {} while the host {}{}{}. The longest time was {}.", in.gpu(device.device),
                  format_time(group.total), format_some(group.gaps, "gap"), get_words(group.cause.reason),
                  group.cause.library.empty() ? std::string() : fmt::format(" ({})", group.cause.library),
                  line.empty() ? std::string() : ", at " + line, format_time(group.longest));
  if (!group.recurs) text += " This happens at the start, not throughout the run.";
  std::string code;
  std::string advice = get_host_advice(group, device.traits, code);
  finding& f = in.add(finding_kind::idle_gaps, std::move(text), std::move(advice));
  f.fix_code = std::move(code);
  f.saves = in.time(static_cast<double>(saved), saving_basis::measured);
  f.range = group.longest_gap;
  // A sample in a library, such as on a thread of its own, names no line of the program.
  if (const code_place& place = in.places.of(group.example_stack); !is_of_others(place)) f.where = place;
  f.detail = fmt::format("it {}", get_words(group.cause.reason));
  f.only_note = !group.recurs || group.gaps < min_recurring;
  return f;
}

/// Reports what the host did while the device waited for host code, from samples of its threads. Returns false if they
/// name nothing that costs enough.
bool tell_samples(finder& in, const device_idle& device) {
  constexpr std::size_t max_causes = 3;
  const time_ns most = recurring_host_time(in, device.device);
  const std::size_t before = in.found.size();
  time_ns saved = 0;
  for (const host_cause_group& each : device.host) {
    if (in.found.size() - before == max_causes || static_cast<double>(each.total) < reported_idle_share * in.working)
      break;
    if (each.cause.reason == host_reason::mixed || each.cause.reason == host_reason::unsampled) continue;
    saved += tell_sample(in, device, each, most).saves.time;
  }
  // The causes share the time after start-up, and how much of it each of them has is only known to be at most `saves`.
  if (saved > most)
    for (std::size_t i = before; i < in.found.size(); ++i)
      in.found[i].parts.push_back(
          {saved_part::type::gaps, device.device, static_cast<std::uint64_t>(gap_cause::host), {}});
  return in.found.size() > before;
}

bool tell_sampled_devices(finder& in, trace::device_id device) {
  bool any = false;
  for (const device_idle& each : in.whole.waste.idle_times)
    if (each.device == device) any = tell_samples(in, each) || any;
  return any;
}

/// True if another finding covers the line: driver allocations in a loop have their own finding.
bool reported_before(const finder& in, gap_cause cause, const code_place& place) {
  return (cause == gap_cause::allocation || cause == gap_cause::release) &&
         in.has(finding_kind::driver_allocations, place);
}

}  // namespace

void find_waits(finder& in) {
  bool any = false;
  for (const device_activity& device : in.whole.whole.devices) {
    in.device = device.device;
    for (std::size_t i = 0; i < gap_cause_count; ++i) {
      const auto cause = static_cast<gap_cause>(i);
      if (cause == gap_cause::queued) continue;  // Not due to the host.
      if (cause == gap_cause::launch) {
        const std::size_t before = in.found.size();
        for (const device_idle& each : in.whole.waste.idle_times)
          if (each.device == device.device) tell_launches(in, each);
        any = any || in.found.size() > before;
        continue;
      }
      if (cause == gap_cause::host && tell_sampled_devices(in, device.device)) {
        any = true;
        continue;
      }
      std::vector<const gap_group*> groups;
      for (const gap_group& each : in.whole.waste.gaps)
        if (each.device == device.device && each.cause == cause) groups.push_back(&each);
      const auto lines = by_line(groups, in.places, [](const gap_group& each) { return each.total; });
      constexpr std::size_t max_lines = 2;  ///< Per cause.
      for (std::size_t line = 0; line < lines.size() && line < max_lines; ++line) {
        if (reported_before(in, cause, lines[line].first)) continue;
        const std::size_t before = in.found.size();
        tell(in, cause, device.device, lines[line].first, gaps(lines[line].second),
             line == 0 ? gaps(groups) : gaps({}));
        any = any || in.found.size() > before;
      }
    }
    // The GPU is not waiting before its first work and after its last work, because the program then imports or saves.
    const double working = static_cast<double>(device.last - device.first);
    if (any || device.kernels == 0 || working <= 0 || static_cast<double>(device.busy) >= 0.5 * working) continue;
    finding& f = in.add(
        finding_kind::idle_gaps,
        fmt::format("{} was idle for {} of the time between its first and last work ({} of {}).", in.gpu(device.device),
                    format_share(1 - static_cast<double>(device.busy) / working),
                    format_time(device.last - device.first - device.busy), format_time(device.last - device.first)),
        "See in the timeline what the host threads do in the gaps.");
    f.range = {device.first, device.last};
  }
}

}  // namespace sluice::metrics
