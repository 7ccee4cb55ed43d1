#include "app/cli/figures/report_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/text_table.hpp"
#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli {
namespace {

using analysis::rank_figures;

constexpr std::size_t categories_shown = 2;

/// "activation 60 %, weight 25 %": the largest categories at the rank's peak.
std::string composition_of(const rank_figures& of) {
  std::string text;
  std::size_t shown = 0;
  for (const analysis::category_share& share : of.shares) {
    if (share.what == analysis::category::none || shown == categories_shown) continue;
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : ", ", category_name(share.what),
        format_share(static_cast<double>(share.bytes) / static_cast<double>(std::max<std::uint64_t>(of.peak, 1))));
    ++shown;
  }
  return text;
}

}  // namespace

std::string ranks_text(const report_subject& subject) {
  const auto& ranks = subject.of.waste.ranks;
  if (ranks.size() < 2) return {};
  const auto bytes = [](std::uint64_t of) { return of > 0 ? format_bytes(of) : std::string("-"); };
  const auto time = [](trace::time_ns of) { return of > 0 ? format_time(of) : std::string("-"); };
  std::string text = "\nRanks (waiting: time in collectives beyond that of the rank that needed least)\n";
  text_table table("rllrlrrrrrrl");
  table.row({"rank", "", "", "peak", "at", "reserved", "untracked", "step", "kernels", "collectives", "waiting", ""});
  for (const rank_figures& of : ranks) {
    const bool waits_known = of.collectives > 0;
    table.row({fmt::format("{}", of.rank), analysis::short_label(of.device, subject.tables),
               std::string(name_of(of.layer)), format_bytes(of.peak), format_moment(of.peak_time), bytes(of.reserved),
               bytes(of.untracked), time(of.median_step), time(of.computing), time(of.collective_time),
               waits_known ? format_time(of.waiting) : "-", composition_of(of)});
  }
  return text + table.text(2);
}

}  // namespace sluice::cli
