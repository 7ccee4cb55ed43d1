// Memory over time, stacked by category or by origin. When zoomed in, each block has its own shape.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "app/gui/views/memory_over_time/block_shapes.hpp"
#include "app/gui/views/memory_over_time/group_chart.hpp"
#include "app/gui/views/memory_over_time/memory_choice.hpp"
#include "app/gui/views/memory_over_time/reserved_curves.hpp"
#include "app/gui/views/memory_over_time/time_flags.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using query::memory_grouping;

constexpr std::uint64_t key_of_others = ~std::uint64_t{0};

/// A way to stack the chart.
struct grouping {
  const char* title;                  ///< Starts with "by ".
  std::optional<memory_grouping> by;  ///< None: stack the curves of the timeline.
  bool category = false;
};
constexpr std::array<grouping, 9> groupings = {{{"by category", std::nullopt, true},
                                                {"by layer", std::nullopt, false},
                                                {"by module", memory_grouping::module, false},
                                                {"by line", memory_grouping::line, false},
                                                {"by caller", memory_grouping::caller, false},
                                                {"by package", memory_grouping::package, false},
                                                {"by owner library", memory_grouping::owner, false},
                                                {"by stream", memory_grouping::stream, false},
                                                {"by process or rank", memory_grouping::process, false}}};
constexpr std::size_t by_category = 0, by_line = 3, by_process = 8;

class memory_over_time_view final : public view {
  static constexpr float min_beside = 640;  // design pixels; in narrower panels the list is below the chart
  static constexpr float list_width = 350;
  static constexpr float pixels_a_part = 2;

 public:
  explicit memory_over_time_view(std::shared_ptr<what_if_replay> replay) : reserved_(std::move(replay)) {}
  [[nodiscard]] const char* name() const override { return "Memory over time"; }
  [[nodiscard]] bool scrolls() const override { return false; }
  [[nodiscard]] bool offers_choices() const override { return true; }

  void reset() override {
    report_ = {};
    tracks_ = {};
    series_ = {};
    groups_ = {};
    count_ = {};
    blocks_ = {};
    details_ = {};
    reserved_.reset();
    memory_.reset();
    grouping_.reset();
    forget_results();
  }

  void add_commands(const command_home& home) override {
    home.commands.add(
        {.id = "memory_over_time.open",
         .title = "Memory over time",
         .group = "Memory",
         .icon = icon::chart,
         .run = [&commands = home.commands](const argument&) { commands.invoke("panel.focus.Memory over time"); },
         .enabled = [&state = home.state] { return state.ready(); }});
    home.commands.add({.id = "memory_over_time.what_if", .run = [this](const argument& with) {
                         if (const auto* policy = std::get_if<std::string>(&with)) reserved_.toggle(*policy);
                       }});
    home.commands.add({.id = "memory_over_time.by", .run = [this](const argument& with) {
                         const auto* title = std::get_if<std::string>(&with);
                         for (std::size_t i = 0; title != nullptr && i < groupings.size(); ++i)
                           if (*title == groupings[i].title) {
                             grouping_ = i;
                             forget_results();
                           }
                       }});
  }

  void draw(view_context& with) override {
    const auto result = report_.ask(*with.state.active()->engine, {});
    if (!result) return progress_line(with, result.complete, result.progress);
    const metrics::report& whole_report = *result.value;
    const std::vector<std::size_t> memories = get_memories(whole_report);
    if (memories.empty()) return no_memory_recorded(with);
    if (!memory_ || *memory_ >= whole_report.peaks.size()) memory_ = choose_best(whole_report, memories);
    if (!grouping_) grouping_ = best_grouping(whole_report);
    draw_choices(with, whole_report, memories);
    const metrics::memory_peak& peak = whole_report.peaks[*memory_];
    ask(with, whole_report, peak);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool beside = room.x >= with.px(min_beside);
    const float list = std::min(with.px(list_width), room.x * 0.35F);
    const ImVec2 chart =
        beside ? ImVec2(room.x - list - with.px(12), room.y) : ImVec2(room.x, std::max(room.y * 0.6F, with.px(100)));
    draw_chart(with, whole_report, peak, chart);
    if (beside) ImGui::SameLine(0, with.px(12));
    if (ImGui::BeginChild("groups")) draw_list(with, peak);
    ImGui::EndChild();
  }

 private:
  void forget_results() {
    shown_series_ = nullptr;
    shown_groups_ = nullptr;
    shown_blocks_ = nullptr;
    bands_ = {};
    shapes_ = {};
    chosen_.reset();
    hovered_block_ = {};
    colours_.clear();
  }

  // --- choices ------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::size_t best_grouping(const metrics::report& whole_report) const {
    const metrics::memory_peak& peak = whole_report.peaks[*memory_];
    const bool categories =
        std::any_of(whole_report.compositions.begin(), whole_report.compositions.end(), [&](const auto& each) {
          return each.device == peak.device && each.layer == peak.layer && each.kind == peak.kind &&
                 each.shares.size() > 1;
        });
    return categories ? by_category : peak.lines.empty() ? by_process : by_line;
  }

  static std::string label_of_memory(const view_context& with, const metrics::memory_peak& peak) {
    return device_words(with, peak.device) + ", " + std::string(get_name(peak.layer)) + ": " +
           std::string(get_name(peak.kind));
  }

  void draw_choices(const view_context& with, const metrics::report& whole_report,
                    const std::vector<std::size_t>& memories) {
    const float room = ImGui::GetContentRegionAvail().x;
    ImGui::SetNextItemWidth(std::min(with.px(230), room * 0.48F));
    if (ImGui::BeginCombo("##memory", gui::make_label(label_of_memory(with, whole_report.peaks[*memory_])).c_str())) {
      for (const std::size_t each : memories) {
        ImGui::PushID(static_cast<int>(each));
        const std::string label = label_of_memory(with, whole_report.peaks[each]) + "  (" +
                                  format_bytes(whole_report.peaks[each].bytes) + ")";
        if (ImGui::Selectable(gui::make_label(label).c_str(), each == *memory_) && each != *memory_) {
          memory_ = each;
          forget_results();
        }
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
    ImGui::SameLine();
    ImGui::SetNextItemWidth(std::min(with.px(150), room * 0.3F));
    if (ImGui::BeginCombo("##by", groupings[*grouping_].title)) {
      for (std::size_t i = 0; i < groupings.size(); ++i)
        if (ImGui::Selectable(groupings[i].title, i == *grouping_) && i != *grouping_) {
          grouping_ = i;
          forget_results();
        }
      ImGui::EndCombo();
    }
    const metrics::memory_peak& peak = whole_report.peaks[*memory_];
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    if (link(with, "Peak " + format_bytes(peak.bytes))) go_to_moment(with, whole_report, peak.time);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Go to the peak.");
    const bool framework =
        std::any_of(whole_report.peaks.begin(), whole_report.peaks.end(), [&](const metrics::memory_peak& each) {
          return each.device == peak.device && each.layer == trace::layer::framework;
        });
    if (!framework) return;
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < with.px(120)) ImGui::NewLine();
    reserved_.draw_choice(with, peak.device, std::min(with.px(150), room * 0.4F));
  }

  // --- queries ------------------------------------------------------------------------------------------------------

  void ask(const view_context& with, const metrics::report& whole_report, const metrics::memory_peak& peak) {
    const document& shown = *with.state.active();
    const time_range range = intersect(shown.target, shown.span);
    if (range.length() <= 0) return;
    const auto width = static_cast<std::uint32_t>(
        std::clamp(ImGui::GetContentRegionAvail().x / with.px(pixels_a_part), 32.0F, 800.0F));
    const grouping& by = groupings[*grouping_];
    std::uint64_t live = block_shapes::block_limit + 1;
    if (by.by) {
      const auto result = groups_.ask(*shown.engine, {range, width, *by.by, peak.layer, peak.device, peak.kind});
      progress_line(with, result.complete, result.progress);
      if (result.value != nullptr && result.value != shown_groups_) take(with, result.value);
      if (result.complete) live = result.value->blocks;
    } else {
      ask_series(with, peak, range, width);
      // Counting blocks requires reading them, so count only where few are expected.
      const double share = static_cast<double>(range.length()) / static_cast<double>(shown.span.length());
      if (by.category && static_cast<double>(whole_report.blocks) * share < 200'000) {
        const auto result =
            count_.ask(*shown.engine, {range, 1, memory_grouping::process, peak.layer, peak.device, peak.kind});
        if (result.complete) live = result.value->blocks;
      }
    }
    if (live > block_shapes::block_limit) {
      shown_blocks_ = nullptr;
      shapes_ = {};
      return;
    }
    ask_blocks(with, peak, range, width);
  }

  void ask_series(const view_context& with, const metrics::memory_peak& peak, time_range range, std::uint32_t width) {
    query::engine& engine = *with.state.active()->engine;
    const auto tracks = tracks_.ask(engine, {});
    if (!tracks) return;
    const auto& rows = tracks.value->tracks;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const query::track& each) {
      return each.kind == query::track_kind::memory && each.device == peak.device;
    });
    if (row == rows.end()) return;
    const auto result = series_.ask(engine, {row->id, range, width, groupings[*grouping_].category});
    progress_line(with, result.complete, result.progress);
    if (result.value == nullptr || result.value == shown_series_) return;
    shown_series_ = result.value;
    take_series(with, peak);
  }

  void ask_blocks(const view_context& with, const metrics::memory_peak& peak, time_range range, std::uint32_t width) {
    query::blocks_query wanted;
    wanted.range = range;
    wanted.layer = peak.layer;
    wanted.sort = query::block_column::born;
    wanted.descending = false;
    wanted.device = peak.device;
    wanted.kind = peak.kind;
    wanted.rows = block_shapes::block_limit + 1;
    if (const auto by = groupings[*grouping_].by) wanted.by = query::to_attribution(*by);
    const auto result = blocks_.ask(*with.state.active()->engine, wanted);
    if (!result.complete || result.value == nullptr) return;
    if (result.value == shown_blocks_) return;
    shown_blocks_ = result.value;
    take_blocks(with, range, width);
  }

  void take(const view_context& with, const std::shared_ptr<const query::memory_groups>& result) {
    shown_groups_ = result;
    bands_ = {};
    bands_.range = result->range;
    bands_.moments = result->moments;
    colours_.begin_result();
    const auto put = [&](const query::memory_group& group, std::uint64_t key, std::string label, ImU32 colour) {
      memory_band& band = bands_.bands.emplace_back();
      band.key = key;
      band.label = std::move(label);
      band.colour = colour;
      band.bytes.assign(group.bytes.begin(), group.bytes.end());
    };
    for (const query::memory_group& each : result->groups)
      put(each, each.key, each.label.empty() ? unnamed() : each.label, colours_.of(with, each.key));
    const std::uint64_t more = result->group_count - result->groups.size();
    if (!result->others.bytes.empty())
      put(result->others, key_of_others, format_some(more, "other"), with.colours.muted);
    bands_.settle();
  }

  [[nodiscard]] const char* unnamed() const {
    return groupings[*grouping_].by == memory_grouping::stream ? "no stream" : "no stack recorded";
  }

  void take_series(const view_context& with, const metrics::memory_peak& peak) {
    bands_ = {};
    bands_.range = shown_series_->range;
    const bool categories = groupings[*grouping_].category;
    bands_.nested = !categories;
    for (const query::band& each : shown_series_->bands) {
      if (each.role != query::band_role::used || each.kind != peak.kind) continue;
      if (categories ? !each.by_category || each.layer != peak.layer : each.by_category) continue;
      memory_band& band = bands_.bands.emplace_back();
      band.label = each.label;
      band.key =
          categories ? static_cast<std::uint64_t>(each.category) + 1 : static_cast<std::uint64_t>(each.layer) + 1;
      band.colour = with.colours.of(each);
      for (const query::bin& bin : each.bins) band.bytes.push_back(categories ? bin.at_peak : bin.maximum);
    }
    // The curves store a moment only for the peak. For each other part, use the middle of the part.
    for (std::size_t part = 0; part < bands_.parts(); ++part)
      bands_.moments.push_back(bands_.get_begin(part) + (bands_.get_begin(part + 1) - bands_.get_begin(part)) / 2);
    if (const auto part = bands_.part_at(peak.time)) bands_.moments[*part] = peak.time;
    bands_.settle();
  }

  void take_blocks(const view_context& with, time_range range, std::uint32_t width) {
    const query::block_table& table = *shown_blocks_;
    std::vector<shaped_block> blocks;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const query::block_row& row = table.rows[i];
      if (row.died != trace::unknown_time && row.died <= row.born) continue;
      shaped_block& block = blocks.emplace_back();
      block.block = row.block;
      block.born = row.born;
      block.died = row.died == trace::unknown_time ? INT64_MAX : row.died;
      block.bytes = row.bytes;
      const memory_band* band = find_band(row, i < table.asked_by.size() ? table.names[table.asked_by[i]] : "");
      block.group = band == nullptr ? key_of_others : band->key;
      // Adjacent blocks of one group get slightly different colours, so that their edges are visible.
      block.colour = with.colours.shade(band == nullptr ? with.colours.muted : band->colour, trace::raw(row.block));
    }
    shapes_ = blocks.size() > block_shapes::block_limit ? block_shapes{} : lay_out(std::move(blocks), range, width);
  }

  /// The band to which a block belongs; null if it belongs to the band of other groups.
  [[nodiscard]] const memory_band* find_band(const query::block_row& row, const std::string& asked_by) const {
    const grouping& by = groupings[*grouping_];
    const auto with_key = [&](std::uint64_t key) -> const memory_band* {
      const auto found = std::find_if(bands_.bands.begin(), bands_.bands.end(),
                                      [&](const memory_band& each) { return each.key == key; });
      return found == bands_.bands.end() ? nullptr : &*found;
    };
    if (by.category) return with_key(static_cast<std::uint64_t>(row.category.kind) + 1);
    if (by.by == memory_grouping::stream) return with_key(trace::raw(row.stream));
    if (!by.by || by.by == memory_grouping::process) return bands_.bands.empty() ? nullptr : &bands_.bands.front();
    const std::string& label = asked_by.empty() ? std::string(unnamed()) : asked_by;
    const auto found = std::find_if(bands_.bands.begin(), bands_.bands.end(),
                                    [&](const memory_band& each) { return each.label == label; });
    return found == bands_.bands.end() ? nullptr : &*found;
  }

  // --- the chart ----------------------------------------------------------------------------------------------------

  void draw_chart(const view_context& with, const metrics::report& whole_report, const metrics::memory_peak& peak,
                  ImVec2 size) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("##chart", {std::max(size.x, 1.0F), std::max(size.y, 1.0F)});
    const bool hovered = ImGui::IsItemHovered();
    menu_.draw_opened(with);
    const bool shapes = !shapes_.pieces.empty();
    const time_range shown_range = with.state.active()->visible;
    const double highest = std::max({bands_.highest, shapes ? static_cast<double>(shapes_.highest) : 0.0,
                                     reserved_.highest(peak.device, shown_range)});
    if (highest <= 0) return;
    const float flags = with.px(small_text) + with.px(4);  // space for the marks above the chart
    const time_chart at = begin_time_chart(with, {corner.x, corner.y + flags}, {size.x, size.y - flags}, shown_range,
                                           highest, format::value_unit::bytes);
    if (!at.fits(with)) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.PushClipRect(at.area.min, at.area.max, true);
    const selection& selected = with.state.selected();
    const auto chosen_block = selected.kind == selection_kind::block ? trace::block_id{selected.id} : trace::block_id{};
    if (shapes) {
      draw_shapes(with, at, shapes_, hovered_block_, chosen_block);
    } else {
      draw_bands(with, at, bands_, chosen_);
    }
    draw_range(with, at);
    reserved_.draw(with, at, peak.device);
    list.PopClipRect();
    const bool on_flag = draw_flags(with, at, whole_report, peak, hovered);
    hovered_block_ = {};
    hovered_part_.reset();
    if (!hovered || on_flag || !at.area.contains(ImGui::GetMousePos())) return;
    hovered_part_ = bands_.part_at(at.time_at(ImGui::GetMousePos().x));
    list.AddLineV(std::floor(ImGui::GetMousePos().x), at.area.min.y, at.area.max.y, with.colours.muted);
    zoom_with_wheel(with, at);
    if (shapes) {
      hit_block(with, at);
    } else {
      hit_band(with, at, peak);
    }
  }

  /// A filter for the blocks of a band that are live at a moment.
  [[nodiscard]] blocks_filter select_blocks(const memory_band& band, const metrics::memory_peak& peak,
                                            time_ns time) const {
    const grouping& by = groupings[*grouping_];
    blocks_filter filter;
    filter.range = time_range{time, time + 1};
    filter.layer = peak.layer;
    filter.device = peak.device;
    filter.kind = peak.kind;
    filter.group_words = band.label;
    if (by.category) {
      filter.category = static_cast<index::category>(band.key - 1);
    } else if (!by.by) {
      filter.layer = static_cast<trace::layer>(band.key - 1);
    } else if (band.key != key_of_others) {
      filter.groups = query::block_groups{*by.by, {band.key}, false};
    } else {
      filter.groups = query::block_groups{*by.by, {}, true};
      for (const memory_band& each : bands_.bands)
        if (each.key != key_of_others) filter.groups->keys.push_back(each.key);
    }
    return filter;
  }

  /// Highlights a band, and limits the list of blocks to those of the band at a moment. Choosing the same band again
  /// clears both.
  void choose(const view_context& with, const memory_band* band, const metrics::memory_peak& peak, time_ns time) {
    const bool shows = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    if (band == nullptr || (chosen_ == band->key && !shows)) return chosen_.reset();
    chosen_ = band->key;
    with.commands.invoke(shows ? "blocks.show" : "blocks.filter", select_blocks(*band, peak, time));
  }

  /// Draws the selected range and the chosen moment.
  static void draw_range(const view_context& with, const time_chart& at) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (const auto& range = with.state.range())
      list.AddRectFilled({at.to_x(range->begin), at.area.min.y}, {at.to_x(range->end), at.area.max.y},
                         with.colours.range_fill);
    if (const auto& moment = with.state.moment())
      list.AddLineV(std::floor(at.to_x(*moment)), at.area.min.y, at.area.max.y, with.colours.accent, with.px(1.5F));
  }

  void hit_band(const view_context& with, const time_chart& at, const metrics::memory_peak& peak) {
    const memory_band* const hit = band_at(at, bands_, ImGui::GetMousePos());
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      const time_ns time = hovered_part_ ? bands_.get_moment(*hovered_part_) : at.time_at(ImGui::GetMousePos().x);
      choose(with, hit, peak, time);
      with.commands.invoke("moment.set", time_range{time, time});
    }
    if (hovered_part_ && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) open_menu(hit, peak);
    if (!hovered_part_ || !begin_tip(with)) return;
    const double total = bands_.total(*hovered_part_);
    if (hit != nullptr) {
      const double bytes = hit->bytes[*hovered_part_];
      swatch(with, hit->colour);
      ImGui::TextUnformatted(hit->label.c_str());
      ImGui::TextUnformatted((format_bytes(bytes) + ", " + format_share(total > 0 ? bytes / total : 0)).c_str());
    }
    ImGui::TextDisabled(
        "%s", ("total " + format_bytes(total) + " at " + format_moment(bands_.get_moment(*hovered_part_))).c_str());
    reserved_.tell(with, peak.device, bands_.get_moment(*hovered_part_));
    if (hit != nullptr)
      ImGui::TextDisabled("Click to list the group's blocks in Blocks. Double-click to show the panel Blocks.");
    end_tip();
  }

  /// Opens the menu of a band, for the part under the mouse. If `band` is null, the menu is about all memory in that
  /// part.
  void open_menu(const memory_band* band, const metrics::memory_peak& peak) {
    const time_ns time = bands_.get_moment(*hovered_part_);
    row_target target;
    target.blocks = band != nullptr ? select_blocks(*band, peak, time) : blocks_filter{.range = {{time, time + 1}}};
    const double bytes = band != nullptr ? band->bytes[*hovered_part_] : bands_.total(*hovered_part_);
    const std::string name = band != nullptr ? band->label : "all memory";
    menu_.open(target, name, name + "\t" + format_bytes(bytes) + "\t" + format_moment(time));
  }

  void hit_block(const view_context& with, const time_chart& at) {
    const shaped_block* const hit = block_at(at, shapes_, ImGui::GetMousePos());
    const time_ns time = at.time_at(ImGui::GetMousePos().x);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      if (hit != nullptr) with.commands.invoke("selection.set", select_block(with, hit->block));
      chosen_ = hit == nullptr ? std::nullopt : std::optional(hit->group);
      with.commands.invoke("moment.set", time_range{time, time});
    }
    if (hit == nullptr) return;
    hovered_block_ = hit->block;
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Right)) {
      row_target target;
      target.shows = select_block(with, hit->block);
      menu_.open(target, "Block of " + format_bytes(hit->bytes),
                 format_bytes(hit->bytes) + "\t" + format_moment(hit->born) + "\t" +
                     (hit->died != INT64_MAX ? format_moment(hit->died) : std::string("never")));
    }
    const auto reported = details_.ask(*with.state.active()->engine, {trace::event_id::none, hit->block});
    if (!begin_tip(with)) return;
    ImGui::TextUnformatted(format_bytes(hit->bytes).c_str());
    const bool ends = hit->died != INT64_MAX;
    const float wide = with.px(80);
    tip_field(with, "allocated", format_moment(hit->born), wide);
    tip_field(with, "freed", ends ? format_moment(hit->died) : std::string("never"), wide);
    if (ends) tip_field(with, "lifetime", format_time(hit->died - hit->born), wide);
    const auto band = std::find_if(bands_.bands.begin(), bands_.bands.end(),
                                   [&](const memory_band& each) { return each.key == hit->group; });
    if (band != bands_.bands.end()) tip_field(with, "group", band->label, wide);
    // The result may still be about the block that was under the mouse before.
    if (reported.complete && reported.value != nullptr && !reported.value->stack.empty()) {
      ImGui::Separator();
      const std::size_t most = 16;
      std::vector<symbols::frame_line> stack(
          reported.value->stack.begin(),
          reported.value->stack.begin() + static_cast<std::ptrdiff_t>(std::min(most, reported.value->stack.size())));
      stack_lines(with, stack);
      if (reported.value->stack.size() > most)
        ImGui::TextDisabled("and %s", format_some(reported.value->stack.size() - most, "line").c_str());
    }
    end_tip();
  }

  // --- the list -----------------------------------------------------------------------------------------------------

  /// The part that the list describes: the part under the mouse; otherwise that of the chosen moment; otherwise the
  /// highest visible part.
  [[nodiscard]] std::size_t reported_part(const view_context& with, bool& at_highest) const {
    at_highest = false;
    if (hovered_part_ && *hovered_part_ < bands_.parts()) return *hovered_part_;
    if (const auto& moment = with.state.moment())
      if (const auto part = bands_.part_at(*moment)) return *part;
    at_highest = true;
    return bands_.highest_part;
  }

  void draw_list(const view_context& with, const metrics::memory_peak& peak) {
    if (bands_.parts() == 0) return;
    bool at_highest = false;
    const std::size_t part = reported_part(with, at_highest);
    const double total = bands_.total(part);
    heading(with, format_bytes(total) + (at_highest ? ", the highest shown" : ""));
    ImGui::TextDisabled("%s", ("at " + format_moment(bands_.get_moment(part))).c_str());
    const time_ns time = bands_.get_moment(part);
    reserved_.tell(with, peak.device, time);
    const auto chosen = std::find_if(bands_.bands.begin(), bands_.bands.end(),
                                     [&](const memory_band& each) { return chosen_ == each.key; });
    if (chosen != bands_.bands.end() && link(with, "Show its blocks"))
      with.commands.invoke("blocks.show", select_blocks(*chosen, peak, time));
    // List the bands in the order in which they are stacked.
    table_of<memory_band> table("Memory at a moment", bands_.bands.size(),
                                [this](std::size_t row) -> const memory_band& {
                                  return *(bands_.bands.rbegin() + static_cast<std::ptrdiff_t>(row));
                                });
    table.text(groupings[*grouping_].title + 3, "group",
               [](const auto& each) { return table_cell::text(each.label).marked(each.colour); });
    table.bytes("bytes", "bytes", [part](const auto& each) { return each.bytes[part]; });
    table.share("share", "share", [=](const auto& each) { return total > 0 ? each.bytes[part] / total : 0; });
    table.moment("", "at_ns", [time](const auto&) { return time; });
    table.leads_to([&](const auto& each) { return row_target{.blocks = select_blocks(each, peak, time)}; });
    table.choose([this](const auto& each) { return chosen_ == each.key; });
    table.on_click([&](const auto& each) { choose(with, &each, peak, time); });
    tables_.draw(with, table);
    if (bands_.nested) remark(with, "Each layer contains the next, so the layers are not added up.");
    if (shapes_.too_many)
      remark(with, "Too many changes here to draw each block. Zoom in.");
    else if (shapes_.pieces.empty() && !bands_.nested)
      remark(with, "Zoom in to see each block as its own shape.");
  }

  screen_slot<query::report_query> report_;
  screen_slot<query::tracks_query> tracks_;
  screen_slot<query::series_query> series_;
  screen_slot<query::memory_groups_query> groups_;
  screen_slot<query::memory_groups_query> count_;  ///< Used only for the number of blocks.
  screen_slot<query::blocks_query> blocks_;
  screen_slot<query::details_query> details_;  ///< Details of the block under the mouse.
  reserved_curves reserved_;
  std::optional<std::size_t> memory_;    ///< Index into `report::peaks`.
  std::optional<std::size_t> grouping_;  ///< Index into `groupings`.
  std::shared_ptr<const query::series> shown_series_;
  std::shared_ptr<const query::memory_groups> shown_groups_;
  std::shared_ptr<const query::block_table> shown_blocks_;
  memory_bands bands_;
  block_shapes shapes_;  ///< Has no pieces if bands are drawn instead.
  band_colours colours_;
  std::optional<std::uint64_t> chosen_;      ///< The key of the highlighted band.
  std::optional<std::size_t> hovered_part_;  ///< The part that was under the mouse in the last frame.
  trace::block_id hovered_block_{};
  item_menu menu_;
  view_tables tables_;
};

}  // namespace

std::unique_ptr<view> make_memory_over_time_view(std::shared_ptr<what_if_replay> replay) {
  return std::make_unique<memory_over_time_view>(std::move(replay));
}

}  // namespace sluice::gui
