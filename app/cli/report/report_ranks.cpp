#include "app/cli/report/report_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli {
namespace {

using metrics::rank_metrics;

constexpr std::size_t categories_shown = 2;
/// If there are more ranks than this, the table has a row for each metric instead, because too many rows would hide the
/// differences.
constexpr std::size_t max_rows = 16;

/// The largest categories at the rank's peak: "activation 60 %, weight 25 %".
std::string get_composition(const rank_metrics& subject) {
  std::string text;
  std::size_t shown = 0;
  for (const metrics::category_share& share : subject.shares) {
    if (share.category == index::category::none || shown == categories_shown) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", category_name(share.category),
                        format_part(share.bytes, subject.peak));
    ++shown;
  }
  return text;
}

/// A table with a row for each metric: the lowest, the median and the highest value, with the ranks that have these
/// values.
std::string extremes_text(const std::vector<rank_metrics>& ranks) {
  text_table table("lrrr");
  table.row({"", "lowest", "median", "highest"});
  const auto add = [&](const char* title, auto member, auto&& to_text) {
    std::vector<const rank_metrics*> sorted;
    for (const rank_metrics& each : ranks) sorted.push_back(&each);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto* a, const auto* b) { return a->*member < b->*member; });
    if (sorted.back()->*member == 0) return;
    const auto with_rank = [&](const rank_metrics& subject) {
      return fmt::format("{} (rank {})", to_text(subject.*member), subject.rank);
    };
    table.row({title, with_rank(*sorted.front()), to_text(sorted[(sorted.size() - 1) / 2]->*member),
               with_rank(*sorted.back())});
  };
  const auto bytes = [](std::uint64_t value) { return format_bytes(value); };
  const auto time = [](trace::time_ns when) { return format_time(when); };
  add("peak", &rank_metrics::peak, bytes);
  add("reserved", &rank_metrics::reserved, bytes);
  add("untracked", &rank_metrics::untracked, bytes);
  add("step", &rank_metrics::median_step, time);
  add("kernels", &rank_metrics::computing, time);
  add("collectives", &rank_metrics::collective_time, time);
  add("waits", &rank_metrics::waiting, time);
  add("rare waits", &rank_metrics::waiting_rarely, time);
  add("awaited", &rank_metrics::awaited, time);
  return table.text(2) + "  For each rank: `sluice query FILE \"select * from rank_use\"`.\n";
}

}  // namespace

std::string ranks_text(const report_subject& subject) {
  const auto& ranks = subject.report.waste.ranks;
  if (ranks.size() < 2) return {};
  const auto bytes = [](std::uint64_t value) { return value > 0 ? format_bytes(value) : std::string("-"); };
  const auto time = [](trace::time_ns when) { return when > 0 ? format_time(when) : std::string("-"); };
  std::string text =
      "\nRanks (waits: time in collectives beyond the time of the fastest rank; rare waits: waits of a length that "
      "occurs fewer than four times, such as waits for connecting; awaited: waits of the other ranks for this one, "
      "without rare waits)\n";
  if (ranks.size() > max_rows) return text + extremes_text(ranks);
  text_table table("rllrlrrrrrrrrl");
  table.row({"rank", "", "", "peak", "at", "reserved", "untracked", "step", "kernels", "collectives", "waits",
             "rare waits", "awaited", ""});
  for (const rank_metrics& target : ranks) {
    const bool waits_known = target.collectives > 0;
    table.row({fmt::format("{}", target.rank), index::short_label(target.device, subject.tables),
               std::string(get_label(target.layer)), format_bytes(target.peak), format_moment(target.peak_time),
               bytes(target.reserved), bytes(target.untracked), time(target.median_step), time(target.computing),
               time(target.collective_time), waits_known ? format_time(target.waiting) : "-",
               waits_known ? format_time(target.waiting_rarely) : "-", waits_known ? format_time(target.awaited) : "-",
               get_composition(target)});
  }
  return text + table.text(2);
}

}  // namespace sluice::cli
