#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/base/format.hpp"
#include "core/metrics/findings/ranks/descriptor.hpp"
#include "core/metrics/findings/ranks/thresholds.hpp"
#include "core/metrics/findings/reserved/thresholds.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Findings about the ranks of a job: a rank that needs more memory than the others, a rank that the others wait for,
/// and ranks that all hold the same data.
namespace sluice::metrics {
namespace {

std::uint64_t compute_median(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

using ranks = std::vector<rank_metrics>;

/// A rank has hardly any collectives if another rank has this many times as many collectives.
constexpr std::uint64_t hardly_any = 20;

std::uint64_t beyond(std::uint64_t more, std::uint64_t less) { return more > less ? more - less : 0; }

/// Returns the median of `value` over all ranks but one.
template <class Value>
std::uint64_t usual(const ranks& all_ranks, const rank_metrics& without, Value&& value) {
  std::vector<std::uint64_t> others;
  for (const rank_metrics& each : all_ranks)
    if (each.process != without.process) others.push_back(static_cast<std::uint64_t>(value(each)));
  return compute_median(std::move(others));
}

/// The rank with the highest `value`. The members tell by how much this value exceeds the median of the other ranks.
struct outlier {
  const rank_metrics* rank = nullptr;
  std::uint64_t value = 0;
  std::uint64_t usual = 0;
  [[nodiscard]] std::uint64_t excess() const { return beyond(value, usual); }
  [[nodiscard]] double share() const {
    return static_cast<double>(excess()) / static_cast<double>(std::max<std::uint64_t>(value, 1));
  }
};

template <class Value>
outlier highest(const ranks& all_ranks, Value&& value) {
  outlier output;
  output.rank = &*std::max_element(all_ranks.begin(), all_ranks.end(),
                                   [&](const auto& a, const auto& b) { return value(a) < value(b); });
  output.value = static_cast<std::uint64_t>(value(*output.rank));
  output.usual = usual(all_ranks, *output.rank, value);
  return output;
}

/// `parts` returns bytes or ns by some key for each rank. Returns the key whose value for `more` exceeds the median of
/// the other ranks by the most.
template <class Key, class Parts>
std::pair<Key, std::uint64_t> largest_excess(const ranks& all_ranks, const rank_metrics& more, Parts&& parts) {
  std::vector<std::map<Key, std::uint64_t>> others;
  for (const rank_metrics& each : all_ranks)
    if (each.process != more.process) others.push_back(parts(each));
  std::pair<Key, std::uint64_t> most{};
  for (const auto& [key, value] : parts(more)) {
    std::vector<std::uint64_t> elsewhere;
    for (const auto& other : others) {
      const auto found = other.find(key);
      elsewhere.push_back(found == other.end() ? 0 : found->second);
    }
    const std::uint64_t there = compute_median(std::move(elsewhere));
    if (value > there && value - there > most.second) most = {key, value - there};
  }
  return most;
}

std::pair<index::category, std::uint64_t> excess_by_category(const ranks& all_ranks, const rank_metrics& more) {
  return largest_excess<index::category>(all_ranks, more, [](const rank_metrics& subject) {
    std::map<index::category, std::uint64_t> bytes;
    for (const category_share& share : subject.shares)
      if (share.category != index::category::none) bytes[share.category] += share.bytes;
    return bytes;
  });
}

std::pair<code_place, std::uint64_t> excess_by_line(const ranks& all_ranks, const rank_metrics& more,
                                                    code_places& places) {
  std::map<std::string, trace::stack_id> stacks;
  const auto [line, bytes] = largest_excess<std::string>(all_ranks, more, [&](const rank_metrics& subject) {
    std::map<std::string, std::uint64_t> lines;
    for (const held_by_stack& each : subject.held) {
      const std::string text = to_text(places.of(each.stack));
      lines[text] += each.bytes;
      if (&subject == &more) stacks[text] = each.stack;
    }
    return lines;
  });
  return {places.of(stacks[line]), bytes};
}

std::pair<trace::string_id, std::uint64_t> excess_by_kernel(const ranks& all_ranks, const rank_metrics& more) {
  return largest_excess<trace::string_id>(all_ranks, more, [](const rank_metrics& subject) {
    std::map<trace::string_id, std::uint64_t> kernels;
    for (const kernel_total& each : subject.kernels) kernels[each.name] += static_cast<std::uint64_t>(each.total);
    return kernels;
  });
}

/// Returns text such as " Rank 3 does." or " Ranks 2, 3 and 7 more do.", if called with "does" and "do". Names the
/// other ranks for which `current` returns true; empty if there are none.
template <class Is>
std::string alike(const ranks& all_ranks, const rank_metrics& one, Is&& current, std::string_view does,
                  std::string_view do_so) {
  constexpr std::size_t named = 3;
  std::vector<std::string> names;
  for (const rank_metrics& each : all_ranks)
    if (each.process != one.process && current(each)) names.push_back(std::to_string(each.rank));
  if (names.empty()) return {};
  const std::size_t more = names.size() - std::min(names.size(), named);
  names.resize(names.size() - more);
  if (more > 0) names.push_back(fmt::format("{} more", more));
  const std::string last = names.back();
  names.pop_back();
  if (names.empty()) return fmt::format(" Rank {} {}.", last, does);
  return fmt::format(" Ranks {} and {} {}.", fmt::join(names, ", "), last, do_so);
}

std::string time_text(std::uint64_t ns) { return format_time(static_cast<time_ns>(ns)); }

constexpr std::string_view share_evenly =
    "Give all ranks the same share of the model, batch and sequence; keep data that only one rank needs (logs, "
    "evaluation) off its GPU.";

/// Returns the ranks that work together. Ranks with hardly any collectives, such as a launcher, an evaluator or a data
/// server, are left out, because their work differs. If no rank has a collective, returns all ranks.
ranks working_together(const ranks& all_ranks) {
  std::uint64_t most = 0;
  for (const rank_metrics& each : all_ranks) most = std::max(most, each.collectives);
  ranks output;
  for (const rank_metrics& each : all_ranks)
    if (each.collectives >= most / hardly_any && (each.collectives > 0 || most == 0)) output.push_back(each);
  return output;
}

void find_memory_outlier(finder& in, const ranks& all_ranks) {
  const auto reserved = [](const rank_metrics& subject) { return subject.reserved; };
  const outlier peak = highest(all_ranks, [](const rank_metrics& target) { return target.peak; });
  const outlier held = highest(all_ranks, reserved);
  if (peak.share() >= imbalanced && static_cast<double>(peak.excess()) >= mebi) {
    const rank_metrics& more = *peak.rank;
    const auto [place, bytes] = excess_by_line(all_ranks, more, in.places);
    const auto [topic, of_category] = excess_by_category(all_ranks, more);
    std::string text = fmt::format("Rank {} uses {} at its peak, {} more than the other ranks ({}).", more.rank,
                                   format_bytes(peak.value), format_bytes(peak.excess()), format_bytes(peak.usual));
    const auto needs_more = [&](const rank_metrics& owner) { return owner.peak >= peak.value - peak.excess() / 2; };
    text += alike(all_ranks, more, needs_more, "uses about as much", "use about as much");
    if (of_category > 0)
      text +=
          fmt::format(" Rank {} has {} more of {}.", more.rank, format_bytes(of_category), index::category_name(topic));
    if (bytes > 0) text += fmt::format(" {} more{}.", format_bytes(bytes), from_place(place));
    if (held.rank == peak.rank && held.usual > 0 && held.excess() > 0)
      text += fmt::format(" Rank {}'s allocator reserves {} more.", more.rank, format_bytes(held.excess()));
    finding& f = in.add(finding_kind::rank_imbalance, std::move(text), std::string(share_evenly));
    f.saves = {.peak_bytes = peak.excess(), .basis = saving_basis::measured, .share = peak.share()};
    f.range = {more.peak_time, more.peak_time + 1};
    f.where = place;
    f.rank = more.rank;
    f.detail = fmt::format("rank {} needs more memory", more.rank);
    return;
  }
  // The memory in use is about the same, but one rank's allocator reserves more.
  if (held.usual == 0 || held.share() < imbalanced || static_cast<double>(held.excess()) < min_reserved) return;
  finding& f = in.add(
      finding_kind::rank_imbalance,
      fmt::format("The allocator of rank {} reserves {} at its peak, {} more than those of the other ranks ({}), "
                  "although it uses {} and the others {}.",
                  held.rank->rank, format_bytes(held.value), format_bytes(held.excess()), format_bytes(held.usual),
                  format_bytes(held.rank->peak),
                  format_bytes(usual(all_ranks, *held.rank, [](const rank_metrics& about) { return about.peak; }))),
      "Look for sizes that only this rank allocates (a longer sequence, an evaluation), and for fragmentation: "
      "record this rank alone and run `sluice whatif`.");
  f.saves = {.reserved_bytes = held.excess(), .basis = saving_basis::measured, .share = held.share()};
  f.range = {held.rank->peak_time, held.rank->peak_time + 1};
  f.rank = held.rank->rank;
  f.detail = fmt::format("rank {} reserves more memory", f.rank);
}

/// Returns how long the threads of a rank waited for the rank's device, in ns.
std::uint64_t host_waiting(const finder& in, const rank_metrics& subject) {
  std::uint64_t waited = 0;
  for (const thread_statistics& each : in.whole.whole.threads)
    if (each.process == subject.process) waited += static_cast<std::uint64_t>(each.wait_busy);
  return waited;
}

/// How much longer the work of a slow rank takes than that of the others, in ns.
struct longer_work {
  std::uint64_t kernels = 0;
  std::uint64_t host = 0;  ///< How much more time the hosts of the other ranks spend waiting for their devices.
};

longer_work find_work(const finder& in, const ranks& all_ranks, const rank_metrics& slow) {
  return {
      .kernels = beyond(static_cast<std::uint64_t>(slow.computing),
                        usual(all_ranks, slow, [](const rank_metrics& subject) { return subject.computing; })),
      .host = beyond(usual(all_ranks, slow, [&](const rank_metrics& target) { return host_waiting(in, target); }),
                     host_waiting(in, slow)),
  };
}

/// True if the others wait for the late host of `slow`, and `slow` hardly waits for theirs.
bool has_late_host(const ranks& all_ranks, const rank_metrics& slow) {
  double for_others = 0;
  for (const rank_metrics& each : all_ranks)
    if (each.process != slow.process) for_others += static_cast<double>(each.awaited);
  const double for_it = static_cast<double>(slow.awaited);
  return for_others <= for_it / 4 && static_cast<double>(slow.awaited_host) >= for_it / 2 && slow.awaited_host > 0;
}

/// Explains why a rank is slower than the others.
std::string why_slow(finder& in, const ranks& all_ranks, const rank_metrics& slow, const longer_work& work,
                     std::uint64_t lost) {
  if (work.kernels * 2 < lost) {
    const std::string late = has_late_host(all_ranks, slow)
                                 ? fmt::format(" Before waits of {} in total, its GPU had no work: its host was late.",
                                               format_time(slow.awaited_host))
                                 : std::string();
    return late + " Its kernels take no longer than theirs: see what its host does during idle gaps.";
  }
  std::string text = fmt::format(" Its own kernels take {} more than theirs.", time_text(work.kernels));
  const auto [kernel, more] = excess_by_kernel(all_ranks, slow);
  if (more > 0)
    text += fmt::format(" {} of that is {}.", time_text(more), shortened(readable_name(in.tables.text(kernel)), 80));
  return text;
}

/// Names the other ranks whose waits are nearer to the waits of `slow` than to those of the remaining ranks, such as
/// all ranks of a slow machine. If `by_kernels`, names only ranks whose kernels also take nearly as long.
template <class Value>
std::string also_awaited(const ranks& all_ranks, const rank_metrics& slow, bool by_kernels, Value&& waiting) {
  const auto computing = [](const rank_metrics& subject) { return subject.computing; };
  const auto waits = static_cast<std::uint64_t>(usual(all_ranks, slow, waiting));
  const auto computes = static_cast<std::uint64_t>(usual(all_ranks, slow, computing));
  const auto is_near = [&](const rank_metrics& target, auto&& value, std::uint64_t others) {
    const auto own = static_cast<std::uint64_t>(value(slow));
    const auto its = static_cast<std::uint64_t>(value(target));
    return std::max(own, its) - std::min(own, its) < (std::max(own, others) - std::min(own, others)) / 2;
  };
  const auto is_alike = [&](const rank_metrics& owner) {
    return is_near(owner, waiting, waits) && (!by_kernels || is_near(owner, computing, computes));
  };
  return alike(all_ranks, slow, is_alike, "waits about as little", "wait about as little");
}

/// Whether ranks use sends and receives. Rare collectives such as broadcasts count as sends.
struct sends {
  /// True if sends and receives are most of the collectives, which indicates that the ranks are pipeline stages.
  bool mostly = false;
  /// True if the ranks are pipeline stages, because the ranks in the middle send more than the first and the last rank.
  bool by_stages = false;
};

sends get_sends(const ranks& all_ranks) {
  constexpr std::uint64_t hardly = 20;
  std::uint64_t sent = 0, collectives = 0, most = 0, least = UINT64_MAX;
  for (const rank_metrics& each : all_ranks) {
    const std::uint64_t own = beyond(each.collectives, each.reductions + each.gathers);
    sent += own;
    collectives += each.collectives;
    most = std::max(most, own);
    least = std::min(least, own);
  }
  const bool uneven = most - least > least / 2;
  return {.mostly = sent > collectives / 2, .by_stages = uneven && sent > collectives / hardly};
}

/// Finds the rank that the others wait for, which is the rank that waits least in collectives. Returns true if there is
/// such a rank. Rare waits are left out, because at startup, the first rank to connect waits for as long as many steps
/// take.
///
/// If the hosts of all ranks are slower than their devices, the devices wait for the last host in each step. No single
/// rank could then go faster alone, so only the extra time of the last host counts as lost. Pipeline stages and their
/// hosts wait for each other by design, so for them, only kernels that take longer count.
///
/// A rank whose collectives could not be matched with those of other ranks has no recorded waits, but spends as much
/// time in collectives as the others.
bool find_awaited_rank(finder& in, const ranks& all_ranks) {
  const auto waiting = [](const rank_metrics& subject) { return subject.waiting - subject.waiting_rarely; };
  const auto& slow = *std::min_element(all_ranks.begin(), all_ranks.end(),
                                       [&](const auto& a, const auto& b) { return waiting(a) < waiting(b); });
  const std::uint64_t others = usual(all_ranks, slow, waiting);
  const auto communicating = [](const rank_metrics& target) { return target.collective_time - target.waiting_rarely; };
  const std::uint64_t usually = usual(all_ranks, slow, communicating);
  const sends sent = get_sends(all_ranks);
  longer_work work = find_work(in, all_ranks, slow);
  if (sent.mostly || sent.by_stages) work.host = 0;
  const std::uint64_t lost =
      std::min({beyond(others, static_cast<std::uint64_t>(waiting(slow))),
                beyond(usually, static_cast<std::uint64_t>(communicating(slow))), std::max(work.kernels, work.host)});
  // Even hosts with the same work differ by a few percent, by turns.
  const double min_share = work.kernels * 2 >= lost         ? warned_time_share
                           : has_late_host(all_ranks, slow) ? awaited_host_share
                                                            : imbalanced;
  if (static_cast<double>(lost) < min_share * in.working) return false;
  finding& f = in.add(
      finding_kind::rank_imbalance,
      fmt::format("The other ranks wait for rank {}: {} of the {} they spend in {}. Rank {} waits {}.", slow.rank,
                  time_text(others), time_text(usually), sent.mostly ? "sends and receives" : "collectives", slow.rank,
                  waiting(slow) * 100 < static_cast<time_ns>(others) ? "for no rank" : format_time(waiting(slow))) +
          also_awaited(all_ranks, slow, work.kernels * 2 >= lost, waiting) + why_slow(in, all_ranks, slow, work, lost),
      "Give all ranks the same work: batches of the same size and length, the same number of layers.");
  // All ranks would then share the excess work of the slow rank.
  const double count = static_cast<double>(all_ranks.size());
  f.saves = in.time(static_cast<double>(lost) * (count - 1) / count, saving_basis::modelled);
  f.rank = slow.rank;
  f.detail = fmt::format("the others wait for rank {}", slow.rank);
  return true;
}

/// True if the ranks meet in every step: each has at least as many collectives as steps. Their steps then take equally
/// long, because each ends after the last rank has arrived. Steps found to differ are differently divided: of some
/// programs, whose steps are inferred, another number of steps is found on each rank.
bool meet_in_each_step(const ranks& all_ranks) {
  return std::all_of(all_ranks.begin(), all_ranks.end(),
                     [](const rank_metrics& each) { return each.collectives > 0 && each.collectives >= each.steps; });
}

/// Reports ranks that wait for each other by turns, so that none of them is slower than the others, and says which rank
/// makes which wait. Pipeline stages wait for each other by design.
void find_waits_by_turns(finder& in, const ranks& all_ranks) {
  if (const sends sent = get_sends(all_ranks); sent.mostly || sent.by_stages) return;
  const double count = static_cast<double>(all_ranks.size());
  double waiting = 0, host = 0, awaited = 0;
  for (const rank_metrics& each : all_ranks) {
    waiting += static_cast<double>(each.waiting - each.waiting_rarely) / count;
    awaited += static_cast<double>(each.awaited);
    host += static_cast<double>(each.awaited_host);
  }
  std::vector<const rank_metrics*> makers;
  for (const rank_metrics& each : all_ranks) makers.push_back(&each);
  std::stable_sort(makers.begin(), makers.end(), [](const auto* a, const auto* b) { return a->awaited > b->awaited; });
  // If one rank makes nearly all waits, and is not named, then it is not what holds the others up.
  if (waiting < imbalanced * in.working || makers[1]->awaited < makers[0]->awaited / 4) return;
  constexpr std::size_t named = 4;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < makers.size() && i < named; ++i)
    words.push_back(fmt::format("{} for rank {}", format_time(makers[i]->awaited), makers[i]->rank));
  std::string text = fmt::format(
      "The ranks wait for each other by turns in collectives, {} each on average, so none of them is slower. "
      "The others wait {}{}.",
      format_time(static_cast<time_ns>(waiting)), fmt::join(words, ", "),
      makers.size() > named ? fmt::format(", and less for {} more", makers.size() - named) : std::string());
  const bool hosts_late = host * 2 >= awaited && host > 0;
  if (host > 0)
    text += fmt::format(" Before waits of {} in total, the GPU of the awaited rank had no work: its host was late.",
                        format_time(static_cast<time_ns>(host)));
  finding& f =
      in.add(finding_kind::rank_imbalance, std::move(text),
             hosts_late ? "Let each host run ahead of its GPU, so that a late host delays nobody: wait less often for "
                          "results, load batches ahead, launch less (torch.compile, CUDA graphs)."
                        : "Give all ranks the same work in each step: batches of the same size and length.");
  f.only_note = true;
  f.detail = "they wait for each other by turns";
}

/// Returns the mean length in ns of a rank's steps, including the time between them, without the first and the last
/// step.
std::uint64_t mean_step(const finder& in, const rank_metrics& subject) {
  for (const step_summary& each : in.whole.steps)
    if (each.process == subject.process && each.count > 2 && each.steps.size() > 2)
      return static_cast<std::uint64_t>(each.steps.back().span.begin - each.steps[1].span.begin) / (each.count - 2);
  return 0;
}

void find_slow_rank(finder& in, const ranks& all_ranks) {
  if (meet_in_each_step(all_ranks)) return find_waits_by_turns(in, all_ranks);
  const bool known = std::all_of(all_ranks.begin(), all_ranks.end(),
                                 [](const auto& subject) { return subject.steps >= min_recurring; });
  const outlier step = highest(all_ranks, [](const rank_metrics& target) { return target.median_step; });
  // Ranks that wait for each other take equally long in total, even if the median step of one rank is longer.
  const auto mean = [&](const rank_metrics& owner) { return mean_step(in, owner); };
  const std::uint64_t excess = std::min(step.excess(), beyond(mean(*step.rank), usual(all_ranks, *step.rank, mean)));
  if (!known || static_cast<double>(excess) < imbalanced * static_cast<double>(step.value)) return;
  const double lost = static_cast<double>(excess) * static_cast<double>(step.rank->steps);
  if (lost < warned_time_share * in.working) return;
  finding& f = in.add(
      finding_kind::rank_imbalance,
      fmt::format("A step of rank {} takes {}, {} longer than those of the other ranks ({}).", step.rank->rank,
                  time_text(step.value), time_text(step.excess()), time_text(step.usual)) +
          why_slow(in, all_ranks, *step.rank, find_work(in, all_ranks, *step.rank), static_cast<std::uint64_t>(lost)),
      "Give all ranks the same work: batches of the same size and length, the same number of layers.");
  f.saves = in.time(lost, saving_basis::measured);
  f.rank = step.rank->rank;
  f.detail = fmt::format("steps of rank {} take longer", f.rank);
}

/// Sharded training gathers in each step, while DistributedDataParallel gathers only once, at startup, to compare
/// shapes. Up to one all-gather per this many all-reduces therefore does not count as sharding.
constexpr std::uint64_t reductions_a_gather = 10;

/// The bytes of weights and of optimizer state, by line. Blocks without a stack form one line.
struct kept_state {
  /// The bytes and the number of blocks of each line.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> lines;
  std::uint64_t weights = 0;
  std::uint64_t optimizer = 0;
};

kept_state get_state(const rank_metrics& subject, code_places& places) {
  kept_state state;
  for (const held_by_stack& each : subject.held) {
    if (each.category != index::category::weight && each.category != index::category::optimizer_state) continue;
    auto& [bytes, blocks] =
        state.lines[std::string(index::category_name(each.category)) + to_text(places.of(each.stack))];
    bytes += each.bytes;
    blocks += each.blocks;
    (each.category == index::category::weight ? state.weights : state.optimizer) += each.bytes;
  }
  return state;
}

}  // namespace

void find_rank_imbalance(finder& in) {
  const ranks all_ranks = working_together(in.whole.waste.ranks);
  if (all_ranks.size() < 2) return;
  find_memory_outlier(in, all_ranks);
  if (!find_awaited_rank(in, all_ranks)) find_slow_rank(in, all_ranks);
}

void find_replicated_state(finder& in) {
  const ranks all_ranks = working_together(in.whole.waste.ranks);
  if (all_ranks.size() < 2 || !in.trains()) return;
  // Ranks that exchange gradients but gather nothing in their steps hold all weights. One rank may differ, because it
  // also holds averaged weights. If several ranks differ, each holds a part of the model, as pipeline stages do.
  std::vector<std::pair<kept_state, std::vector<const rank_metrics*>>> states;
  for (const rank_metrics& each : all_ranks) {
    if (each.reductions == 0 || each.gathers > each.reductions / reductions_a_gather) continue;
    kept_state state = get_state(each, in.places);
    auto known = std::find_if(states.begin(), states.end(),
                              [&](const auto& subject) { return subject.first.lines == state.lines; });
    if (known == states.end()) {
      states.emplace_back(std::move(state), std::vector<const rank_metrics*>());
      known = std::prev(states.end());
    }
    known->second.push_back(&each);
    if (states.size() > 2) return;
  }
  const auto most = std::max_element(states.begin(), states.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == states.end() || most->second.size() < 2 || most->second.size() + 1 < all_ranks.size()) return;
  const auto& [first, replicas] = *most;
  const std::uint64_t bytes = first.weights + first.optimizer;
  const std::size_t count = replicas.size();
  const auto taken_off = [&](std::uint64_t value) { return value - value / count; };
  std::uint64_t min_peak = replicas.front()->peak;
  for (const rank_metrics* each : replicas) min_peak = std::min(min_peak, each->peak);
  const double share =
      static_cast<double>(taken_off(bytes)) / static_cast<double>(std::max<std::uint64_t>(min_peak, 1));
  if (share < warned_memory_share) return;
  finding& f = in.add(
      finding_kind::replicated_state,
      fmt::format("{} holds the same {} of weights and {} of optimizer state.",
                  count == in.whole.waste.ranks.size()
                      ? fmt::format("Each of the {} ranks", count)
                      : fmt::format("Each of {} of the {} ranks", count, in.whole.waste.ranks.size()),
                  format_bytes(first.weights), format_bytes(first.optimizer)),
      fmt::format(
          "If memory is short, shard them: FSDP (fully_shard) or DeepSpeed ZeRO-3 saves {} on each rank, for more "
          "communication; sharding only the optimizer state (ZeroRedundancyOptimizer, ZeRO-1) saves {}.",
          format_bytes(taken_off(bytes)), format_bytes(taken_off(first.optimizer))));
  f.saves = {.peak_bytes = taken_off(bytes), .basis = saving_basis::modelled, .share = share};
  f.range = {replicas.front()->peak_time, replicas.front()->peak_time + 1};
  f.only_note = true;
  in.set_fix(f, replicated_state_fixes);
}

}  // namespace sluice::metrics
