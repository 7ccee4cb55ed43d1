// The ranks of a job: which of them need more memory, wait longer or are slower than the others.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "app/gui/views/chart/view_charts.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "core/index/labels.hpp"
#include "core/query/types/ranks.hpp"

namespace sluice::gui {
namespace {

using metrics::rank_metrics;

/// A rank, and how it compares with the median of the other ranks.
struct compared_rank {
  std::size_t place = 0;         ///< Index into `report::waste.ranks`.
  std::optional<double> idle{};  ///< Share of the time between the device's first and last work in which the device was
                                 ///< idle.
  double outlying = 0;           ///< The largest relative difference from the median of the others.
  const char* how = "";          ///< In what the rank differs most: "slow", "more memory", ...
};

/// A row of the maps: one of the devices of a rank.
struct rank_strip {
  std::size_t rank = 0;  ///< Index of the rank in the table.
  query::shown_rank shown;
  std::string name;     ///< "Rank 0"; for a rank with several devices "Rank 0, GPU 1".
  bool shared = false;  ///< Other processes use the device too, so its curve is not that of the rank.
};

template <class Values, class Value>
auto median_of_others(const Values& whole, std::size_t but, Value&& value) {
  std::vector<decltype(value(whole[0]))> others;
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (i != but) others.push_back(value(whole[i]));
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>((others.size() - 1) / 2);
  std::nth_element(others.begin(), middle, others.end());
  return *middle;
}

constexpr panel_info ranks_panel{.title = "Ranks",
                                 .scrolls = false,
                                 .shown_at_first = false /* Most recordings have one rank. */,
                                 .offers_choices = true,
                                 .open = {"ranks.open", "Ranks", "Go"}};

class ranks_view final : public view {
  /// A rank that differs from the median of the others by at least this share is highlighted, as in the report's
  /// finding.
  static constexpr double outlying = 0.1;
  static constexpr float min_beside = 900;  // design pixels; in narrower panels the maps are below the table
  static constexpr float highest_row = 22;
  static constexpr float min_row = 14;  // design pixels, for a label in each row; maps that do not fit scroll
  static constexpr float pixels_a_part = 3;
  static constexpr int shades = 32;

 public:
  ranks_view() : view(ranks_panel) {}

  void reset() override {
    report_ = {};
    over_time_ = {};
    tracks_ = {};
    compared_from_ = nullptr;
    ranks_.clear();
    strips_.clear();
    strips_from_ = {};
    own_.clear();
    rows_from_.clear();
  }

  void draw(view_context& with) override {
    const auto result = report_.ask(*with.state.active()->engine, {});
    progress_line(with, result.complete, result.progress);
    if (!result) return;
    const metrics::report& whole_report = *result.value;
    if (whole_report.waste.ranks.size() < 2)
      return empty_state(
          with, icon::chart, "Fewer than two ranks",
          "This panel compares the ranks of a job. Record them together, with `torchrun ...` as the program (File, "
          "Record a program), or join their recordings with `sluice merge`.");
    if (result.value != compared_from_) {
      compared_from_ = result.value;
      compare(whole_report);
    }
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool beside = room.x >= with.px(min_beside);
    if (ImGui::BeginChild("table", beside ? ImVec2(room.x * 0.46F, 0) : ImVec2(0, room.y * 0.5F)))
      draw_table(with, whole_report);
    ImGui::EndChild();
    if (beside) ImGui::SameLine(0, with.px(16));
    if (ImGui::BeginChild("maps")) draw_maps(with, whole_report);
    ImGui::EndChild();
  }

 private:
  /// Collects the metrics, and sorts the ranks so that outliers come first.
  void compare(const metrics::report& whole_report) {
    ranks_.clear();
    for (std::size_t i = 0; i < whole_report.waste.ranks.size(); ++i) {
      const rank_metrics& subject = whole_report.waste.ranks[i];
      compared_rank& rank = ranks_.emplace_back();
      rank.place = i;
      for (const metrics::device_activity& each : whole_report.whole.devices)
        if (each.device == subject.device && each.kernels > 0 && each.last > each.first)
          rank.idle = 1 - static_cast<double>(each.busy) / static_cast<double>(each.last - each.first);
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) judge(whole_report, i);
    const auto get_peak = [&](const compared_rank& each) { return whole_report.waste.ranks[each.place].peak; };
    std::stable_sort(ranks_.begin(), ranks_.end(), [&](const compared_rank& a, const compared_rank& b) {
      return std::pair(a.outlying >= outlying, get_peak(a)) > std::pair(b.outlying >= outlying, get_peak(b));
    });
  }

  /// Computes how far a rank is from the median of the others: in its peak, its step time, how busy its GPU is, and how
  /// long it works without waiting for the others. If there are only two ranks, only the one with the higher value is
  /// an outlier, because it is not known which one is normal.
  void judge(const metrics::report& whole_report, std::size_t at) {
    compared_rank& subject = ranks_[at];
    const auto differs = [&](const char* more, const char* less, auto&& value) {
      const auto mine = static_cast<double>(value(subject));
      const auto usual = static_cast<double>(median_of_others(ranks_, at, value));
      if (!(usual > 0) || (ranks_.size() <= 2 && mine <= usual)) return;
      const double by = std::abs(mine - usual) / usual;
      if (by <= subject.outlying) return;
      subject.outlying = by;
      subject.how = mine > usual ? more : less;
    };
    differs("slow", "fast",
            [&](const compared_rank& each) { return whole_report.waste.ranks[each.place].median_step; });
    differs("slow", "waits", [&](const compared_rank& each) {
      const rank_metrics& rank = whole_report.waste.ranks[each.place];
      return std::max<time_ns>(whole_report.whole.active.length() - (rank.waiting - rank.waiting_rarely), 0);
    });
    differs("more memory", "less memory",
            [&](const compared_rank& each) { return whole_report.waste.ranks[each.place].peak; });
    if (subject.idle)
      differs("busy GPU", "idle GPU", [](const compared_rank& each) { return 1 - each.idle.value_or(1); });
  }

  // --- the table ----------------------------------------------------------------------------------------------------

  void draw_table(const view_context& with, const metrics::report& whole_report) {
    // Show the report's findings about ranks.
    for (const metrics::finding& each : whole_report.findings) {
      if (each.kind != metrics::finding_kind::rank_imbalance) continue;
      ImGui::PushStyleColor(ImGuiCol_Text, with.colours.warning);
      ImGui::TextUnformatted(icon::warning);
      ImGui::PopStyleColor();
      ImGui::SameLine(0, with.px(6));
      ImGui::PushTextWrapPos(0);
      ImGui::TextUnformatted(each.text.c_str());
      ImGui::PopTextWrapPos();
    }
    const auto snapshot = with.state.active()->engine->snapshot();
    const auto get_metrics = [&](const compared_rank& each) -> const rank_metrics& {
      return whole_report.waste.ranks[each.place];
    };
    const auto get_device = [&](const compared_rank& each) {
      return printable(index::label_beside_rank(get_metrics(each).device, snapshot->tables()));
    };
    const auto if_any = [](auto value, bool any) { return any ? std::optional(value) : std::nullopt; };
    table_of<compared_rank> table("Ranks", ranks_);
    table.text("rank", "rank", [&](const auto& each) {
      const std::string number = std::to_string(get_metrics(each).rank);
      const bool stands_out = each.outlying >= outlying;
      return table_cell::words(
                 "Rank " + number + ",  " + get_device(each) + (stands_out ? std::string(",  ") + each.how : ""),
                 number)
          .in(stands_out ? tone::warning : tone::plain);
    });
    table.bytes("peak", "peak_bytes", [&](const auto& each) { return get_metrics(each).peak; });
    table.moment("at", "peak_time_ns",
                 [&](const auto& each) { return table_cell::moment(get_metrics(each).peak_time).in(tone::muted); });
    table.bytes("reserved", "reserved_bytes",
                [&](const auto& each) { return if_any(get_metrics(each).reserved, get_metrics(each).reserved > 0); });
    table.duration("step", "median_step_ns", [&](const auto& each) {
      return if_any(get_metrics(each).median_step, get_metrics(each).median_step > 0);
    });
    table.duration("waiting", "waiting_ns", [&](const auto& each) {
      return if_any(get_metrics(each).waiting, get_metrics(each).collectives > 0);
    });
    table.share("GPU idle", "idle_share", [](const auto& each) { return each.idle; });
    table.text("", "device", get_device);
    table.leads_to([&](const auto& each) {
      return row_target{.range = time_range{get_metrics(each).peak_time, get_metrics(each).peak_time}};
    });
    table.on_click([&](const auto& each) { go_to_moment(with, whole_report, get_metrics(each).peak_time); });
    table.explain([&](const auto& each) { draw_rank_tip(with, whole_report, get_metrics(each)); });
    table.tip = "Click to go to the rank's peak.";
    tables_.draw(with, table);
    remark(with, ranks_.size() == 2
                     ? "A rank that is 10 % or more above the other comes first."
                     : "Outliers first: ranks that differ from the median of the others by 10 % or more.");
  }

  static void draw_rank_tip(const view_context& with, const metrics::report& whole_report, const rank_metrics& owner) {
    const auto process = std::find_if(whole_report.processes.begin(), whole_report.processes.end(),
                                      [&](const auto& row) { return row.process == owner.process; });
    if (process != whole_report.processes.end())
      ImGui::TextUnformatted(
          ("Process " + std::to_string(process->pid) + ": " + process->command.substr(0, 200)).c_str());
    const auto snapshot = with.state.active()->engine->snapshot();
    tip_field(with, "device", printable(index::device_label(owner.device, snapshot->tables())), with.px(70));
    tip_field(with, "peak share", share_of_device(with, owner.device, static_cast<double>(owner.peak)), with.px(70));
    if (owner.collectives == 0) return;
    std::string words = format_count(owner.collectives) + ", " + format_time(owner.collective_time) + ", including " +
                        format_time(owner.waiting) + " waiting for other ranks";
    if (owner.waiting_rarely > 0) words += " (" + format_time(owner.waiting_rarely) + " in a few long waits)";
    if (owner.awaited > 0) words += "; others waited " + format_time(owner.awaited) + " for it";
    tip_field(with, "collectives", words, with.px(70));
  }

  static std::string share_of_device(const view_context& with, trace::device_id device, double bytes) {
    const auto snapshot = with.state.active()->engine->snapshot();
    const trace::device_row* row = snapshot->tables().devices.find(device);
    const std::uint64_t total = row == nullptr ? 0 : row->memory_bytes;
    return total == 0 ? std::string("unknown") : format_share(bytes / static_cast<double>(total));
  }

  // --- the maps -----------------------------------------------------------------------------------------------------

  /// Finds the devices of each rank: that of the rank's peak, and those of its streams and pools.
  void find_strips(const view_context& with, const metrics::report& whole_report, const query::track_list& tracks) {
    const auto snapshot = with.state.active()->engine->snapshot();
    std::map<trace::process_id, std::set<trace::device_id>> devices_by_process;
    std::map<trace::device_id, std::set<trace::process_id>> users_by_device;
    const auto uses = [&](trace::process_id process, trace::device_id device) {
      if (process == trace::process_id::none || device == trace::device_id::none) return;
      devices_by_process[process].insert(device);
      users_by_device[device].insert(process);
    };
    for (const query::track& each : tracks.tracks) uses(each.process, each.device);
    for (const rank_metrics& each : whole_report.waste.ranks) uses(each.process, each.device);
    strips_.clear();
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      const rank_metrics& subject = whole_report.waste.ranks[ranks_[at].place];
      const std::set<trace::device_id>& devices = devices_by_process[subject.process];
      for (const trace::device_id device : devices) {
        rank_strip& strip = strips_.emplace_back();
        strip.rank = at;
        strip.shown = {subject.process, {device, subject.layer, subject.kind}};
        strip.name = "Rank " + std::to_string(subject.rank);
        if (devices.size() > 1) strip.name += ", " + printable(index::label_beside_rank(device, snapshot->tables()));
        strip.shared = users_by_device[device].size() > 1;
      }
    }
    own_.clear();
    own_.resize(strips_.size());
    rows_from_.clear();
  }

  /// The rows of the maps for all strips. Where ranks share a device, the rank's memory is summed from its blocks.
  const query::rank_rows& rows_of_strips(const view_context& with, const query::query_result<query::rank_rows>& result,
                                         const query::ranks_query& asked) {
    std::vector<std::shared_ptr<const void>> items{result.value};
    for (std::size_t i = 0; i < strips_.size(); ++i) {
      if (!strips_[i].shared) continue;
      query::memory_groups_query wanted{
          .range = asked.range, .width = asked.width, .by = query::memory_grouping::process};
      std::tie(wanted.layer, wanted.device, wanted.kind, wanted.process) =
          std::tie(strips_[i].shown.memory.layer, strips_[i].shown.memory.device, strips_[i].shown.memory.kind,
                   strips_[i].shown.process);
      const auto own = own_[i].ask(*with.state.active()->engine, wanted);
      progress_line(with, own.complete, own.progress);
      items.push_back(own.value);
    }
    if (items == rows_from_) return drawn_;
    rows_from_ = items;
    drawn_ = *result.value;
    std::size_t next = 1;
    for (std::size_t i = 0; i < strips_.size(); ++i) {
      if (!strips_[i].shared) continue;
      const auto own = std::static_pointer_cast<const query::memory_groups>(items[next++]);
      query::put_own_memory(own != nullptr ? *own : query::memory_groups{}, drawn_.range, drawn_.rows[i]);
    }
    return drawn_;
  }

  void draw_maps(const view_context& with, const metrics::report& whole_report) {
    const document& shown = *with.state.active();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    query::ranks_query wanted;
    wanted.range = with.state.range().value_or(shown.active);
    wanted.width = static_cast<std::uint32_t>(std::clamp(room.x / with.px(pixels_a_part), 16.0F, 512.0F));
    const auto tracks = tracks_.ask(*shown.engine, {});
    if (!tracks) return;
    if (strips_from_ != std::pair(compared_from_, tracks.value)) {
      strips_from_ = {compared_from_, tracks.value};
      find_strips(with, whole_report, *tracks.value);
    }
    for (const rank_strip& each : strips_) wanted.ranks.push_back(each.shown);
    const auto result = over_time_.ask(*shown.engine, wanted);
    progress_line(with, result.complete, result.progress);
    if (!result || result.value->rows.size() != strips_.size()) return;
    const query::rank_rows& rows = rows_of_strips(with, result, wanted);
    double most = 1;
    bool idle = false, waiting = false;
    for (const query::rank_row& row : rows.rows) {
      for (const double bytes : row.memory) most = std::max(most, bytes);
      idle = idle || !row.idle.empty();
      waiting = waiting || !row.waiting.empty();
    }
    const int maps = 1 + (idle ? 1 : 0) + (waiting ? 1 : 0);
    // Height of the heading and the time axis of each map.
    const float beside = ImGui::GetTextLineHeightWithSpacing() * 2 + with.px(small_text + 12);
    const auto rows_in_all = static_cast<float>(maps * static_cast<int>(strips_.size()));
    const float high =
        std::clamp((room.y - beside * static_cast<float>(maps)) / rows_in_all, with.px(min_row), with.px(highest_row));
    draw_map(with, whole_report, rows,
             {"Memory, full colour: " + format_bytes(most),
              with.colours.memory[static_cast<std::size_t>(trace::memory_kind::device)], 1 / most,
              [](const query::rank_row& row, std::size_t part) { return row.memory[part]; },
              [&](std::size_t strip, double value) {
                return format_bytes(value) + ", " + share_of_device(with, strips_[strip].shown.memory.device, value) +
                       " of the device";
              }},
             high);
    const auto shares = [](std::size_t, double value) { return format_share(value) + " of the time"; };
    if (idle)
      draw_map(with, whole_report, rows,
               {"GPU idle", with.colours.muted, 1,
                [](const query::rank_row& row, std::size_t part) {
                  return part < row.idle.size() ? static_cast<double>(row.idle[part]) : 0.0;
                },
                shares},
               high);
    if (waiting)
      draw_map(with, whole_report, rows,
               {"Host waiting for GPU", with.colours.slice(query::slice_kind::sync), 1,
                [](const query::rank_row& row, std::size_t part) {
                  return part < row.waiting.size() ? static_cast<double>(row.waiting[part]) : 0.0;
                },
                shares},
               high);
  }

  /// What a map shows.
  struct rank_map {
    std::string title;
    ImU32 colour = 0;  ///< Of high values.
    double scale = 1;  ///< The factor that maps the values to 0..1.
    std::function<double(const query::rank_row&, std::size_t part)> value{};
    std::function<std::string(std::size_t strip, double value)> words{};
  };

  /// A row for each strip, in which strong colours mean high values: the higher a value, the more its colour contrasts
  /// with the background of the theme. Ranks that stand out have their own colour, and a word beside their name.
  chart_model make_map(const rank_map& map, const query::rank_rows& rows, const theme& colours) const {
    chart_model model;
    model.x = make_time_axis(rows.range);
    model.y = make_item_axis(rows.rows.size(), [this](std::int64_t item) {
      const compared_rank& rank = ranks_[strip_at(item).rank];
      return strip_at(item).name + (rank.outlying >= outlying ? std::string(", ") + rank.how : std::string());
    });
    model.y.stands_out = [this](std::int64_t item) { return ranks_[strip_at(item).rank].outlying >= outlying; };
    model.downward = true;
    model.crosshair = true;
    chart_series& fields = model.series.emplace_back();
    fields.look = series_look::boxes;
    fields.parted = true;
    for (std::size_t row = 0; row < rows.rows.size(); ++row) {
      const std::size_t parts = rows.rows[row].memory.size();
      const bool stands_out = ranks_[strips_[row].rank].outlying >= outlying;
      const ImU32 strong = stands_out ? colours.warning : map.colour;
      const auto place = [&](std::size_t part) {
        return model.x.high * static_cast<double>(part) / static_cast<double>(parts);
      };
      for (std::size_t part = 0; part < parts; ++part) {
        const double value = std::clamp(map.value(rows.rows[row], part) * map.scale, 0.0, 1.0);
        const auto shade = static_cast<float>(std::lround(value * shades)) / static_cast<float>(shades);
        add_joined(fields.points, {.begin = place(part),
                                   .end = place(part + 1),
                                   .low = static_cast<double>(row),
                                   .high = static_cast<double>(row + 1),
                                   .colour = mix(strong, colours.background, 0.94F - 0.94F * shade),
                                   .item = static_cast<std::uint32_t>(row)});
      }
    }
    model.tip = [&, axis = model.x](const chart_pointer& pointer) {
      chart_tip tip;
      if (!pointer.series) return tip;
      const query::rank_row& row = rows.rows[pointer.item];
      const auto part = static_cast<std::size_t>(axis.to_share(pointer.x) * static_cast<double>(row.memory.size()));
      tip.say(strip_at(pointer.item).name);
      tip.say(map.words(pointer.item, map.value(row, std::min(part, row.memory.size() - 1))));
      tip.hint("at " + format_moment(axis.time(pointer.x)));
      return tip;
    };
    return model;
  }

  [[nodiscard]] const rank_strip& strip_at(std::int64_t item) const {
    return strips_[std::min(static_cast<std::size_t>(item), strips_.size() - 1)];
  }

  /// `high`: height of a row in pixels.
  void draw_map(const view_context& with, const metrics::report& whole_report, const query::rank_rows& rows,
                const rank_map& map, float high) {
    heading(with, map.title);
    chart_model model = make_map(map, rows, with.colours);
    model.click = [&](const chart_pointer& pointer) {
      if (pointer.series) go_to_moment(with, whole_report, model.x.time(pointer.x));
    };
    ImGui::PushID(map.title.c_str(), map.title.c_str() + std::min<std::size_t>(map.title.find(','), map.title.size()));
    const float below = with.px(small_text) + with.px(8);
    charts_.draw(with, "##map", model,
                 {ImGui::GetContentRegionAvail().x, high * static_cast<float>(rows.rows.size()) + below});
    ImGui::PopID();
  }

  screen_slot<query::report_query> report_;
  screen_slot<query::ranks_query> over_time_;
  std::shared_ptr<const metrics::report> compared_from_;
  std::vector<compared_rank> ranks_;  ///< Sorted so that outliers come first.
  screen_slot<query::tracks_query> tracks_;
  std::vector<rank_strip> strips_;  ///< Sorted by rank as in `ranks_`, then by device.
  std::pair<std::shared_ptr<const metrics::report>, std::shared_ptr<const query::track_list>> strips_from_;
  std::vector<screen_slot<query::memory_groups_query>> own_;  ///< One for each strip whose device is shared.
  std::vector<std::shared_ptr<const void>> rows_from_;
  query::rank_rows drawn_;
  view_tables tables_;
  view_charts charts_;
};

}  // namespace

std::unique_ptr<view> make_ranks_view() { return std::make_unique<ranks_view>(); }

}  // namespace sluice::gui
