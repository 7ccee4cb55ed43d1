#include "app/cli/metrics/report_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/text_table.hpp"
#include "core/base/format.hpp"
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
std::string composition_of(const rank_metrics& of) {
  std::string text;
  std::size_t shown = 0;
  for (const metrics::category_share& share : of.shares) {
    if (share.what == index::category::none || shown == categories_shown) continue;
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : ", ", category_name(share.what),
        format_share(static_cast<double>(share.bytes) / static_cast<double>(std::max<std::uint64_t>(of.peak, 1))));
    ++shown;
  }
  return text;
}

/// A table with a row for each metric: the lowest, the median and the highest value, with the ranks that have these
/// values.
std::string extremes_text(const std::vector<rank_metrics>& ranks) {
  text_table table("lrrr");
  table.row({"", "lowest", "median", "highest"});
  const auto add = [&](const char* title, auto member, auto&& text_of) {
    std::vector<const rank_metrics*> sorted;
    for (const rank_metrics& each : ranks) sorted.push_back(&each);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto* a, const auto* b) { return a->*member < b->*member; });
    if (sorted.back()->*member == 0) return;
    const auto with_rank = [&](const rank_metrics& of) {
      return fmt::format("{} (rank {})", text_of(of.*member), of.rank);
    };
    table.row({title, with_rank(*sorted.front()), text_of(sorted[(sorted.size() - 1) / 2]->*member),
               with_rank(*sorted.back())});
  };
  const auto bytes = [](std::uint64_t of) { return format_bytes(of); };
  const auto time = [](trace::time_ns of) { return format_time(of); };
  add("peak", &rank_metrics::peak, bytes);
  add("reserved", &rank_metrics::reserved, bytes);
  add("untracked", &rank_metrics::untracked, bytes);
  add("step", &rank_metrics::median_step, time);
  add("kernels", &rank_metrics::computing, time);
  add("collectives", &rank_metrics::collective_time, time);
  add("waits", &rank_metrics::waiting, time);
  add("rare waits", &rank_metrics::waiting_rarely, time);
  return table.text(2) + "  For each rank: `sluice query FILE \"select * from rank_use\"`.\n";
}

}  // namespace

std::string ranks_text(const report_subject& subject) {
  const auto& ranks = subject.of.waste.ranks;
  if (ranks.size() < 2) return {};
  const auto bytes = [](std::uint64_t of) { return of > 0 ? format_bytes(of) : std::string("-"); };
  const auto time = [](trace::time_ns of) { return of > 0 ? format_time(of) : std::string("-"); };
  std::string text =
      "\nRanks (waits: time in collectives beyond that of the rank that needed least; rare waits: those of a length "
      "that occurs fewer than four times, such as connecting)\n";
  if (ranks.size() > max_rows) return text + extremes_text(ranks);
  text_table table("rllrlrrrrrrrl");
  table.row({"rank", "", "", "peak", "at", "reserved", "untracked", "step", "kernels", "collectives", "waits",
             "rare waits", ""});
  for (const rank_metrics& of : ranks) {
    const bool waits_known = of.collectives > 0;
    table.row({fmt::format("{}", of.rank), index::short_label(of.device, subject.tables),
               std::string(name_of(of.layer)), format_bytes(of.peak), format_moment(of.peak_time), bytes(of.reserved),
               bytes(of.untracked), time(of.median_step), time(of.computing), time(of.collective_time),
               waits_known ? format_time(of.waiting) : "-", waits_known ? format_time(of.waiting_rarely) : "-",
               composition_of(of)});
  }
  return text + table.text(2);
}

}  // namespace sluice::cli
