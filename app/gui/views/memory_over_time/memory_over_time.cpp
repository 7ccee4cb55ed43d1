// Memory over time, stacked by category or by origin. When zoomed in, each block has its own shape.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "app/gui/views/chart/view_charts.hpp"
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

constexpr panel_info memory_over_time_panel{.title = "Memory over time",
                                            .scrolls = false,
                                            .offers_choices = true,
                                            .open = {"memory_over_time.open", "Memory over time", "Memory"}};

class memory_over_time_view final : public view {
  static constexpr float min_beside = 640;  // design pixels; in narrower panels the list is below the chart
  static constexpr float list_width = 350;
  static constexpr float pixels_a_part = 2;

 public:
  explicit memory_over_time_view(std::shared_ptr<what_if_replay> replay)
      : view(memory_over_time_panel), reserved_(std::move(replay)) {}

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
    static constexpr command_row<acts_on<memory_over_time_view>> rows[] = {
        {.id = "memory_over_time.what_if",
         .run =
             [](auto& at, auto& with) {
               if (const auto* policy = std::get_if<std::string>(&with)) at.self.reserved_.toggle(*policy);
             }},
        {.id = "memory_over_time.by", .run = [](auto& at, auto& with) {
           if (const auto* title = std::get_if<std::string>(&with)) at.self.group_by(*title);
         }}};
    home.commands.add(rows, acts_on<memory_over_time_view>{home, *this});
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
  /// Stacks the chart in the way with this title, such as "by line".
  void group_by(const std::string& title) {
    for (std::size_t i = 0; i < groupings.size(); ++i)
      if (title == groupings[i].title) {
        grouping_ = i;
        forget_results();
      }
  }

  void forget_results() {
    shown_series_ = nullptr;
    shown_groups_ = nullptr;
    shown_blocks_ = nullptr;
    bands_ = {};
    shapes_ = {};
    drawn_series_.clear();
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
    return device_words(with, peak.device) + ", " + describe_memory(peak.layer, peak.kind);
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
    const std::string at_peak = "Peak " + format_bytes(peak.bytes);
    place_control(ImGui::CalcTextSize(at_peak.c_str()).x);
    ImGui::AlignTextToFramePadding();
    if (link(with, at_peak)) go_to_moment(with, whole_report, peak.time);
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
      if (!shapes_.pieces.empty()) {
        shapes_ = {};
        make_series();
      }
      shown_blocks_ = nullptr;
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
    make_series();
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
    make_series();
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
    make_series();
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
    const bool shapes = !shapes_.pieces.empty();
    const time_range shown_range = with.state.active()->visible;
    const double highest = std::max({bands_.highest, shapes ? static_cast<double>(shapes_.highest) : 0.0,
                                     reserved_.highest(peak.device, shown_range)});
    menu_.draw_opened(with);
    chart_model model;
    model.x = make_time_axis(shown_range, shapes ? shapes_.range.begin : bands_.range.begin);
    model.y = {.unit = format::value_unit::bytes, .high = std::max(highest * 1.02, 1.0)};
    model.crosshair = true;
    model.chosen_colour = with.colours.accent;
    // The series are made once per result, and lent to the model.
    model.series = std::move(drawn_series_);
    highlight(with, model.series, shapes);
    const std::size_t lent = model.series.size();
    reserved_.add_to(model, peak.device, with.colours);
    add_range(with, model);
    add_flags(model, with, whole_report, peak);
    hovered_block_ = {};
    hovered_part_.reset();
    const auto follow = [&](const chart_pointer& at) { hovered_part_ = bands_.part_at(model.x.time(at.x)); };
    model.click = [&](const chart_pointer& at) {
      follow(at), shapes ? click_block(with, model, at) : click_band(with, model, at, peak);
    };
    model.right_click = [&](const chart_pointer& at) {
      follow(at), shapes ? open_block_menu(with, at) : open_menu(find_band(at), peak);
    };
    model.tip = [&](const chart_pointer& at) {
      follow(at);
      return shapes ? describe_block(with, at) : describe_band(with, find_band(at), peak);
    };
    const drawn_chart drawn = charts_.draw(with, "##chart", model, size);
    if (drawn.pointer) zoom_with_wheel(with, drawn.at.area);
    model.series.resize(lent);
    drawn_series_ = std::move(model.series);
  }

  /// Dims the bands that are not chosen, and highlights the chosen block and the block under the mouse.
  void highlight(const view_context& with, std::vector<chart_series>& series, bool shapes) const {
    if (!shapes) {
      for (std::size_t i = 0; i < series.size(); ++i) {
        const memory_band& band = bands_.bands[i];
        const bool dimmed = chosen_ && *chosen_ != band.key;
        series[i].colour = dimmed ? mix(band.colour, with.colours.background, 0.65F) : band.colour;
      }
      return;
    }
    const auto lit = with.followed().blocks();
    const auto number_of = [&](trace::block_id block) -> std::optional<std::uint32_t> {
      if (block == trace::block_id::none) return std::nullopt;
      const auto found = std::find_if(shapes_.blocks.begin(), shapes_.blocks.end(),
                                      [&](const shaped_block& each) { return each.block == block; });
      if (found == shapes_.blocks.end()) return std::nullopt;
      return static_cast<std::uint32_t>(found - shapes_.blocks.begin());
    };
    series.front().chosen.reset();
    for (std::size_t i = 0; i < lit.size() && !series.front().chosen; ++i) series.front().chosen = number_of(lit[i]);
    series.front().highlighted = number_of(hovered_block_);
  }

  void make_series() {
    drawn_series_.clear();
    if (!shapes_.pieces.empty()) {
      drawn_series_.push_back(make_shape_series(shapes_));
    } else {
      drawn_series_ = make_band_series(bands_);
    }
  }

  [[nodiscard]] const memory_band* find_band(const chart_pointer& at) const {
    return hovered_part_ ? band_at(bands_, *hovered_part_, at.y) : nullptr;
  }

  /// Handles the mouse wheel over the chart: zooms the timeline around the mouse, or pans it if Shift is held.
  static void zoom_with_wheel(const view_context& with, const draw::rectangle& area) {
    const ImGuiIO& io = ImGui::GetIO();
    const auto pan = [&](float wheel) {
      with.commands.invoke("timeline.pan", argument(-static_cast<double>(wheel) * 0.15));
    };
    if (io.MouseWheelH != 0) pan(io.MouseWheelH);
    if (io.MouseWheel == 0) return;
    if (io.KeyShift) return pan(io.MouseWheel);
    const double factor = std::pow(1.25, -static_cast<double>(io.MouseWheel));
    const time_range range = with.state.active()->target;
    const double share = static_cast<double>((io.MousePos.x - area.min.x) / area.width());
    const double length = std::max(static_cast<double>(range.length()) * factor, 2.0);
    const auto middle = range.begin + static_cast<time_ns>(share * static_cast<double>(range.length()));
    const auto begin = middle - static_cast<time_ns>(share * length);
    with.commands.invoke("timeline.glide", time_range{begin, begin + static_cast<time_ns>(length)});
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

  /// Marks the selected range, the chosen moment, and the ends of the selected item.
  static void add_range(const view_context& with, chart_model& model) {
    if (const auto& range = with.state.range())
      model.marks.push_back({.kind = mark_kind::range,
                             .at = model.x.place(range->begin),
                             .to = model.x.place(range->end),
                             .colour = with.colours.range_fill});
    if (const auto& moment = with.state.moment())
      model.marks.push_back({.at = model.x.place(*moment), .colour = with.colours.accent, .thickness = 1.5F});
    // The lifetime of the selected block, or the time of the selected event, as on the timeline.
    if (const query::event_details* item = with.followed().details())
      for (const time_ns end : {item->span.begin, item->span.end})
        model.marks.push_back({.at = model.x.place(end), .colour = with.colours.text});
  }

  void click_band(const view_context& with, const chart_model& model, const chart_pointer& at,
                  const metrics::memory_peak& peak) {
    const time_ns time = hovered_part_ ? bands_.get_moment(*hovered_part_) : model.x.time(at.x);
    choose(with, find_band(at), peak, time);
    with.commands.invoke("moment.set", time_range{time, time});
  }

  chart_tip describe_band(const view_context& with, const memory_band* band, const metrics::memory_peak& peak) {
    chart_tip tip;
    if (!hovered_part_) return tip;
    const time_ns time = bands_.get_moment(*hovered_part_);
    const double total = bands_.total(*hovered_part_);
    if (band != nullptr) {
      const double bytes = band->bytes[*hovered_part_];
      tip.lines.push_back({.label = band->label, .swatch = band->colour});
      tip.say(format_bytes(bytes) + ", " + format_share(total > 0 ? bytes / total : 0));
    }
    tip.hint("total " + format_bytes(total) + " at " + format_moment(time));
    tip.draw_more = [this, &with, &peak, time, hint = band != nullptr] {
      reserved_.tell(with, peak.device, time);
      if (hint)
        ImGui::TextDisabled("Click to list the group's blocks in Blocks. Double-click to show the panel Blocks.");
    };
    return tip;
  }

  /// Opens the menu of a band, for the part under the mouse. If `band` is null, the menu is about all memory in that
  /// part.
  void open_menu(const memory_band* band, const metrics::memory_peak& peak) {
    if (!hovered_part_) return;
    const time_ns time = bands_.get_moment(*hovered_part_);
    row_target target;
    target.blocks = band != nullptr ? select_blocks(*band, peak, time) : blocks_filter{.range = {{time, time + 1}}};
    const double bytes = band != nullptr ? band->bytes[*hovered_part_] : bands_.total(*hovered_part_);
    const std::string name = band != nullptr ? band->label : "all memory";
    menu_.open(target, name, name + "\t" + format_bytes(bytes) + "\t" + format_moment(time));
  }

  [[nodiscard]] const shaped_block* find_block(const chart_pointer& at) const {
    return at.series == 0U && at.item < shapes_.blocks.size() ? &shapes_.blocks[at.item] : nullptr;
  }

  void click_block(const view_context& with, const chart_model& model, const chart_pointer& at) {
    const shaped_block* const hit = find_block(at);
    const time_ns time = model.x.time(at.x);
    if (hit != nullptr) with.commands.invoke("selection.set", select_block(with, hit->block));
    chosen_ = hit == nullptr ? std::nullopt : std::optional(hit->group);
    with.commands.invoke("moment.set", time_range{time, time});
  }

  void open_block_menu(const view_context& with, const chart_pointer& at) {
    const shaped_block* const hit = find_block(at);
    if (hit == nullptr) return;
    row_target target;
    target.shows = select_block(with, hit->block);
    menu_.open(target, "Block of " + format_bytes(hit->bytes),
               format_bytes(hit->bytes) + "\t" + format_moment(hit->born) + "\t" +
                   (hit->died != INT64_MAX ? format_moment(hit->died) : std::string("never")));
  }

  chart_tip describe_block(const view_context& with, const chart_pointer& at) {
    chart_tip tip;
    const shaped_block* const hit = find_block(at);
    if (hit == nullptr) return tip;
    hovered_block_ = hit->block;
    const auto reported = details_.ask(*with.state.active()->engine, {trace::event_id::none, hit->block});
    const bool ends = hit->died != INT64_MAX;
    tip.say(format_bytes(hit->bytes));
    tip.field("allocated", format_moment(hit->born));
    tip.field("freed", ends ? format_moment(hit->died) : std::string("never"));
    if (ends) tip.field("lifetime", format_time(hit->died - hit->born));
    const auto band = std::find_if(bands_.bands.begin(), bands_.bands.end(),
                                   [&](const memory_band& each) { return each.key == hit->group; });
    if (band != bands_.bands.end()) tip.field("group", band->label);
    // The result may still be about the block that was under the mouse before.
    if (reported.complete && reported.value != nullptr && !reported.value->stack.empty())
      tip.draw_more = [&with, details = reported.value] { draw_stack(with, details->stack); };
    return tip;
  }

  static void draw_stack(const view_context& with, const std::vector<symbols::frame_line>& whole) {
    ImGui::Separator();
    const std::size_t most = 16;
    const std::vector<symbols::frame_line> stack(
        whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(std::min(most, whole.size())));
    stack_lines(with, stack);
    if (whole.size() > most) ImGui::TextDisabled("and %s", format_some(whole.size() - most, "line").c_str());
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
  block_shapes shapes_;                     ///< Has no pieces if bands are drawn instead.
  std::vector<chart_series> drawn_series_;  ///< Of the shapes or, if there are none, of the bands.
  band_colours colours_;
  std::optional<std::uint64_t> chosen_;      ///< The key of the highlighted band.
  std::optional<std::size_t> hovered_part_;  ///< The part that was under the mouse in the last frame.
  trace::block_id hovered_block_{};
  item_menu menu_;
  view_tables tables_;
  view_charts charts_;
};

}  // namespace

std::unique_ptr<view> make_memory_over_time_view(std::shared_ptr<what_if_replay> replay) {
  return std::make_unique<memory_over_time_view>(std::move(replay));
}

}  // namespace sluice::gui
