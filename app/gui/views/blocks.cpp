#include "app/gui/views/blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"
#include "core/trace/model/names.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

using query::block_column;

constexpr float min_for_filters = 170;  // design pixels of panel height
constexpr float min_for_footer = 90;
constexpr float min_width = 1060;  // narrower tables scroll sideways

constexpr std::array<std::uint64_t, 5> sizes = {0, 1 << 20, 16 << 20, 256 << 20, std::uint64_t{1} << 30};

std::string size_words(std::uint64_t bytes) {
  return bytes == 0 ? std::string("any size") : "at least " + format_bytes(static_cast<double>(bytes));
}

}  // namespace

void blocks_view::add_commands(const command_home& home) {
  static constexpr command_row<acts_on<blocks_view>> rows[] = {
      // This command sets the filter without bringing the panel to the front.
      {.id = "blocks.filter",
       .run = [](auto& at, auto& with) { at.self.take(std::get_if<blocks_filter>(&with)); },
       .enabled = when_ready},
      {.id = "blocks.show",
       .run =
           [](auto& at, auto& with) {
             if (at.self.take(std::get_if<blocks_filter>(&with))) at.commands.invoke("panel.focus.Blocks");
           },
       .enabled = when_ready},
      {.id = "blocks.sort",
       .run =
           [](auto& at, auto& with) {
             if (const auto* title = std::get_if<std::string>(&with)) at.self.tables_.sort_by(*title);
           },
       .enabled = when_ready}};
  home.commands.add(rows, acts_on<blocks_view>{home, *this});
}

/// Sets the filter. Returns false if there is none.
bool blocks_view::take(const blocks_filter* wanted) {
  if (wanted == nullptr) return false;
  filter_ = *wanted;
  layer_chosen_ = true;
  start_over();
  return true;
}

void blocks_view::reset() {
  query_ = {};
  ahead_ = {};
  report_ = {};
  filter_ = {};
  layer_chosen_ = false;
  wanted_ = {};
  whole_wanted_.reset();
  start_over();
}

void blocks_view::start_over() {
  tables_.scroll_to(0);
  wanted_rows_ = query::block_table::first_rows;
}

void blocks_view::keep(document_id id, kept_view& into) const {
  if (id == document_ && layer_chosen_) into.blocks = filter_;
}

void blocks_view::restore(const view_context& with, const kept_view& view) {
  if (!view.blocks) return;
  document_ = with.state.active()->id;
  filter_ = *view.blocks;
  layer_chosen_ = true;
  start_over();
}

void blocks_view::follow(const view_context& with) {
  if (with.state.active() != nullptr) document_ = with.state.active()->id;
  const reveal_request& last = with.state.revealed();
  if (last.number == revealed_) return;
  revealed_ = last.number;
  if (last.target.kind != selection_kind::block || !visible) return;
  wanted_ = {static_cast<trace::block_id>(last.target.id), last.span.begin, 0};
  bring_forward();
}

void blocks_view::draw(view_context& with) {
  on_screen_.clear();
  const document& shown = *with.state.active();
  const auto report = report_.ask(*shown.engine, {});
  if (!layer_chosen_ && report && report.complete) {
    // Show the innermost layer, whose blocks contain no other blocks, so that no memory is listed twice.
    if (const metrics::memory_peak* peak = main_peak(*report.value)) filter_.layer = peak->layer;
    layer_chosen_ = true;
  }
  draw_filters(with, report);
  query::blocks_query wanted;
  wanted.range = filter_.range.value_or(with.state.range().value_or(shown.span));
  wanted.layer = filter_.layer;
  wanted.only_unfreed = filter_.only_unfreed;
  wanted.sort = sort_;
  wanted.descending = descending_;
  wanted.filter = filter_.text;
  wanted.rows = wanted_rows_;
  wanted.by = by_ ? by_ : choose_grouping(with, report).by;
  wanted.category = filter_.category;
  wanted.min_bytes = filter_.min_bytes;
  wanted.only_unused = filter_.only_unused;
  wanted.device = filter_.device;
  wanted.kind = filter_.kind;
  wanted.process = filter_.process;
  wanted.groups = filter_.groups;
  wanted.with_uses = true;
  const auto result = query_.ask(*shown.engine, wanted);
  progress_line(with, result.complete, result.progress);
  if (!result) return;
  if (result.complete && !shown.live) {
    // If all rows are known, sorting by any column and filtering are fast.
    query::blocks_query blocks_query;
    blocks_query.range = shown.span;
    blocks_query.sort = block_column::born;
    blocks_query.rows = 0;
    ahead_.ask(*shown.engine, blocks_query);
  }
  const query::block_table& table = *result.value;
  count_ = table.count;
  if (wanted_.block != trace::block_id::none && result.complete) look_for_wanted(table);
  if (table.rows.empty() && result.complete) {
    const bool no_filter = filter_ == blocks_filter{};
    if (no_filter && !with.state.range()) return no_memory_recorded(with);
    return empty_state(with, icon::search, "No blocks match",
                       filter_.only_unused && !table.uses_known
                           ? "This recording has no data on which blocks were used."
                       : no_filter ? "Nothing was allocated in this range."
                                   : "No block in this range matches the filters above.");
  }
  if (whole_wanted_ && result.complete) take_whole(with, table);
  const bool footer = ImGui::GetContentRegionAvail().y > with.px(min_for_footer);
  draw_table(with, table, footer);
  if (footer) draw_footer(with, table);
}

/// Copies or saves the table if all rows that can be shown are known. Otherwise requests all rows first.
void blocks_view::take_whole(const view_context& with, const query::block_table& table) {
  const std::size_t most = query::block_table::row_limit;
  if (table.rows.size() < std::min<std::uint64_t>(table.count, most) && wanted_rows_ < most) {
    wanted_rows_ = most;
    return;
  }
  copy_or_save_csv(with, make_table(with, table), *whole_wanted_);
  whole_wanted_.reset();
}

/// Scrolls to the block that is to be revealed. If the block is not among the rows, requests more rows; if it is not
/// among all rows, drops the filters.
void blocks_view::look_for_wanted(const query::block_table& table) {
  const auto found = std::find_if(table.rows.begin(), table.rows.end(),
                                  [this](const query::block_row& row) { return row.block == wanted_.block; });
  if (found != table.rows.end()) {
    tables_.scroll_to(static_cast<std::size_t>(found - table.rows.begin()));
    wanted_ = {};
  } else if (wanted_.tries++ == 0 && table.rows.size() < table.count) {
    wanted_rows_ = query::block_table::row_limit;
  } else if (wanted_.tries <= 2) {
    wanted_.tries = 2;
    filter_ = {};
    filter_.range = time_range{wanted_.born, wanted_.born + 1};
    wanted_rows_ = query::block_table::row_limit;
  } else {
    wanted_ = {};
  }
}

/// Draws the filters. A low panel shows only the text filter, because the rows need the space; a button shows the
/// others.
void blocks_view::draw_filters(const view_context& with, const query::query_result<metrics::report>& report) {
  const blocks_filter before = filter_;
  const bool low = ImGui::GetContentRegionAvail().y < with.px(min_for_filters);
  const float button = low ? ImGui::CalcTextSize("Filters (on)").x + ImGui::GetStyle().FramePadding.x * 2 +
                                 ImGui::GetStyle().ItemSpacing.x
                           : 0;
  ImGui::SetNextItemWidth(std::min(with.px(240), std::max(with.px(60), ImGui::GetContentRegionAvail().x - button)));
  ImGui::InputTextWithHint("##filter", "Line, function, module, name or address", &filter_.text);
  if (!low) {
    draw_filter_choices(with, report);
  } else {
    blocks_filter others = filter_;
    others.text.clear();
    others.layer.reset();
    ImGui::SameLine();
    if (ImGui::Button(others == blocks_filter{} ? "Filters###filters" : "Filters (on)###filters"))
      ImGui::OpenPopup("filters");
    if (ImGui::BeginPopup("filters")) {
      draw_filter_choices(with, report);
      ImGui::EndPopup();
    }
  }
  if (filter_ != before) start_over();
}

void blocks_view::draw_filter_choices(const view_context& with, const query::query_result<metrics::report>& report) {
  place_control(with.px(146));
  ImGui::SetNextItemWidth(with.px(146));
  if (ImGui::BeginCombo("##layer", filter_.layer ? get_label(*filter_.layer).data() : "all layers")) {
    if (ImGui::Selectable("all layers", !filter_.layer)) filter_.layer.reset();
    for (std::size_t i = 0; i < trace::layer_count; ++i) {
      const auto layer = static_cast<trace::layer>(i);
      if (ImGui::Selectable(get_label(layer).data(), filter_.layer == layer)) filter_.layer = layer;
    }
    ImGui::EndCombo();
  }
  place_control(with.px(140));
  ImGui::SetNextItemWidth(with.px(140));
  if (ImGui::BeginCombo("##category",
                        filter_.category ? index::category_name(*filter_.category).data() : "all categories")) {
    if (ImGui::Selectable("all categories", !filter_.category)) filter_.category.reset();
    for (std::size_t i = 1; i < index::category_count; ++i) {
      const auto subject = static_cast<index::category>(i);
      if (ImGui::Selectable(index::category_name(subject).data(), filter_.category == subject))
        filter_.category = subject;
    }
    ImGui::EndCombo();
  }
  place_control(with.px(132));
  ImGui::SetNextItemWidth(with.px(132));
  if (ImGui::BeginCombo("##size", size_words(filter_.min_bytes).c_str())) {
    for (const std::uint64_t each : sizes)
      if (ImGui::Selectable(size_words(each).c_str(), filter_.min_bytes == each)) filter_.min_bytes = each;
    ImGui::EndCombo();
  }
  place_control(with.px(104), with.px(between_choices));
  check_box(with, "never freed", &filter_.only_unfreed);
  place_control(with.px(100), with.px(between_choices));
  check_box(with, "never used", &filter_.only_unused);
  draw_moment_filter(with, report.value.get());
  draw_group_filter(with);
  if (has_several_processes(with)) {
    place_control(with.px(132));
    ImGui::SetNextItemWidth(with.px(132));
    process_combo(with, "##process", filter_.process);
  }
  place_control(with.px(190), with.px(between_choices));
  ImGui::SetNextItemWidth(with.px(190));
  attribution_combo(with, "##by", by_, choose_grouping(with, report));
}

/// Draws the filter by moment: "at the peak", or the time that a link from another panel chose.
void blocks_view::draw_moment_filter(const view_context& with, const metrics::report* report) {
  const metrics::memory_peak* peak = nullptr;
  if (report != nullptr)
    for (const metrics::memory_peak& each : report->peaks)
      if (index::is_device_resident(each.kind) && (!filter_.layer || each.layer == *filter_.layer) &&
          (peak == nullptr || each.bytes > peak->bytes))
        peak = &each;
  const auto at_peak = [&] { return time_range{peak->time, peak->time + 1}; };
  const bool elsewhere = filter_.range && (peak == nullptr || *filter_.range != at_peak());
  if (peak == nullptr && !elsewhere) return;
  place_control(with.px(110), with.px(between_choices));
  bool on = filter_.range.has_value();
  const std::string label = elsewhere ? "at " + format_moment(filter_.range->begin) : std::string("at the peak");
  if (check_box(with, (label + "###moment").c_str(), &on)) {
    filter_.range.reset();
    if (on) filter_.range = at_peak();
  }
}

/// Draws the filter by a group of the panel Memory over time.
void blocks_view::draw_group_filter(const view_context& with) {
  if (!filter_.groups && !filter_.device && !filter_.kind) return;
  place_control(with.px(140), with.px(between_choices));
  constexpr std::size_t longest = 40;  // characters
  bool on = true;
  if (check_box(with, (make_label(shortened(filter_.group_words, longest)) + "###group").c_str(), &on)) {
    filter_.groups.reset();
    filter_.device.reset();
    filter_.kind.reset();
    filter_.group_words.clear();
  }
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("Only blocks of %s", filter_.group_words.c_str());
}

void blocks_view::draw_footer(const view_context& with, const query::block_table& table) const {
  std::string text = format_some(table.count, "block") + ", " + format_bytes(static_cast<double>(table.total_bytes));
  if (!filter_.layer) text += "  (blocks of a layer are inside those of the layer below)";
  const bool limited = filter_ != blocks_filter{.range = filter_.range, .layer = filter_.layer};
  if (limited) {
    text += " matching these filters";
  } else if (!filter_.range && !with.state.range()) {
    text += filter_.layer ? ", allocations over the run" : " in total";
  }
  const std::uint64_t most = query::block_table::row_limit;
  if (most < table.count) text += "; the first " + format_count(most) + " are shown";
  if (filter_.range && filter_.range->length() == 1) {
    text += ", live at " + format_moment(filter_.range->begin);
  } else if (!filter_.range && with.state.range()) {
    text += ", live in the selected range";
  }
  clipped_text(text, ImGui::GetContentRegionAvail().x);
}

void blocks_view::draw_table(const view_context& with, const query::block_table& table, bool footer) {
  table_model model = make_table(with, table);
  model.total = static_cast<std::size_t>(std::min<std::uint64_t>(table.count, query::block_table::row_limit));
  model.load = [this] { wanted_rows_ = query::block_table::row_limit; };
  model.sort = [this](int key, bool descending) {
    sort_ = static_cast<block_column>(key);
    descending_ = descending;
  };
  model.key = [&](std::size_t row) { return trace::raw(table.rows[row].block); };
  model.chosen = [&](std::size_t row) { return with.followed().lights(table.rows[row].block); };
  model.click = [&](std::size_t row, std::size_t) {
    with.commands.invoke("selection.set", select_block(with, table.rows[row].block));
  };
  model.double_click = [&](std::size_t) { with.commands.invoke("selection.reveal"); };
  model.menu = [&](std::size_t row) { filter_entries(with, table, row); };
  model.whole = [this](bool save) { whole_wanted_ = save; };
  model.target = [&](std::size_t row) {
    return row_target{.shows = select_block(with, table.rows[row].block), .lists_blocks = false};
  };
  const drawn_table drawn = tables_.draw(with, model,
                                         {.scrolls = true,
                                          .height = footer ? -ImGui::GetTextLineHeightWithSpacing() : 0,
                                          .shares_width = true,
                                          .adjustable = true,
                                          .least_width = with.px(min_width),
                                          .follows_selection = true});
  for (const std::size_t row : drawn.visible) on_screen_.push_back(table.rows[row].block);
}

table_model blocks_view::make_table(const view_context& with, const query::block_table& table) {
  using query::block_row;
  table_of<block_row> model("Blocks", table.rows);
  const auto sorted_by = [](table_column& made, block_column key, float width) -> table_column& {
    made.key = static_cast<int>(key);
    return made.wide(width);
  };
  const auto if_freed = [](const block_row& each, auto value) {
    return each.died == trace::unknown_time ? table_cell::none("never") : value;
  };
  const auto use = [&table](time_ns time) {
    if (!table.uses_known) return table_cell::none();
    return time == trace::unknown_time ? table_cell::none("never") : table_cell::moment(time);
  };
  sorted_by(model.bytes("Size", "bytes", [](const auto& each) { return each.bytes; }), block_column::bytes, 84)
      .sorted_at_first();
  model
      .text("Allocated by", "asked_by",
            [&](const auto&, std::size_t row) {
              return row < table.asked_by.size() ? table.names[table.asked_by[row]] : std::string();
            })
      .wide(250)
      .unsorted();
  sorted_by(model.text("Category", "category",
                       [&](const auto& each) {
                         const index::block_category& category = each.category;
                         if (category.kind == index::category::none) return table_cell::text("");
                         return table_cell::text(index::category_name(category.kind))
                             .marked(with.colours.categories[static_cast<std::size_t>(category.kind)])
                             .explained(std::string(category.exact() ? "exact: " : "inferred: ") +
                                        std::string(index::get_words(category.why)));
                       }),
            block_column::category, 124);
  sorted_by(model.moment("Allocated", "allocated_ns", [](const auto& each) { return each.born; }), block_column::born,
            92)
      .tip("When the allocation call returned, in host time.");
  sorted_by(model.moment("Freed", "freed_ns",
                         [=](const auto& each) { return if_freed(each, table_cell::moment(each.died)); }),
            block_column::died, 92)
      .tip("When the program freed the block, in host time. GPU work that uses it may still be pending.");
  sorted_by(model.duration("Lifetime", "lifetime_ns",
                           [](const auto& each) {
                             return each.died == trace::unknown_time ? std::nullopt
                                                                     : std::optional(each.died - each.born);
                           }),
            block_column::lifetime, 84);
  sorted_by(model.moment("Last use", "last_use_ns", [=](const auto& each) { return use(each.last_use); }),
            block_column::last_use, 92)
      .tip("When the program launched the last kernel or copy that uses the block. The GPU may have run it later.");
  sorted_by(model.duration("Idle since last use", "held_unused_ns",
                           [&, end = with.state.active()->span.end](const auto& each) {
                             return table.uses_known ? std::optional(query::idle_at_end(each, end)) : std::nullopt;
                           }),
            block_column::idle, 124)
      .tip("Time from the last use (or the allocation, if never used) until the block was freed.");
  model
      .count("Step", "step",
             [&](const auto&, std::size_t row) {
               return row < table.steps.size() && table.steps[row] >= 0
                          ? table_cell::text(std::to_string(table.steps[row]))
                          : table_cell::none();
             })
      .tip("The step in which the block was allocated.")
      .wide(48)
      .unsorted();
  sorted_by(model.add(cell_type::address, "Address", "address",
                      [&table](std::size_t row) { return table.rows[row].address; }),
            block_column::address, 128);
  sorted_by(model.text("Name", "name", [&](const auto& each) { return with.text(each.name); }), block_column::name,
            110);
  sorted_by(model.text("Layer", "layer",
                       [&](const auto& each) {
                         return table_cell::text(get_label(each.layer))
                             .marked(with.colours.layers[static_cast<std::size_t>(each.layer)]);
                       }),
            block_column::layer, 96)
      .hidden_at_first();
  sorted_by(model.text("Kind", "kind", [](const auto& each) { return get_name(each.kind); }), block_column::kind, 74)
      .hidden_at_first();
  sorted_by(model.moment("First use", "first_use_ns", [=](const auto& each) { return use(each.first_use); }),
            block_column::first_use, 92)
      .tip("When the first kernel or copy that uses the block was enqueued.")
      .hidden_at_first();
  model
      .count("Uses", "uses",
             [&](const auto& each) { return table.uses_known ? std::optional(each.uses) : std::nullopt; })
      .tip("Number of kernels and copies that use the block.")
      .wide(60)
      .unsorted()
      .hidden_at_first();
  if (has_several_processes(with))
    model.text("Rank", "rank", [&](const auto& each) { return process_words(with, each.process); })
        .tip("The rank of the process that allocated the block, or the process itself if it has no rank.")
        .wide(70)
        .unsorted();
  return model;
}

/// Adds menu entries that limit the list to blocks similar to this one.
void blocks_view::filter_entries(const view_context& with, const query::block_table& table, std::size_t at) {
  const query::block_row& row = table.rows[at];
  const blocks_filter before = filter_;
  const std::string who = at < table.asked_by.size() ? table.names[table.asked_by[at]] : std::string();
  if (ImGui::MenuItem(table.by == symbols::attribution::line ? "Only blocks of this line" : "Only blocks of this group",
                      nullptr, false, !who.empty()))
    filter_.text = who;
  if (row.category.kind != index::category::none && ImGui::MenuItem("Only blocks of this category"))
    filter_.category = row.category.kind;
  if (ImGui::MenuItem("Only blocks of at least this size")) filter_.min_bytes = row.bytes;
  if (ImGui::MenuItem("Only blocks that are live when this block is allocated"))
    filter_.range = time_range{row.born, row.born + 1};
  if (has_several_processes(with) && ImGui::MenuItem("Only blocks of this process")) filter_.process = row.process;
  if (ImGui::MenuItem("Remove all filters", nullptr, false, filter_ != blocks_filter{})) filter_ = {};
  ImGui::Separator();
  if (filter_ != before) start_over();
}

}  // namespace sluice::gui
