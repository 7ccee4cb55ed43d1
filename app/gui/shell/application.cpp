#include "app/gui/shell/application.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/gui/views/shown_range.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "core/base/lower_case.hpp"
#include "core/base/printable.hpp"
#include "core/remote/address.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr ImGuiDockNodeFlags dock_flags = static_cast<ImGuiDockNodeFlags>(ImGuiDockNodeFlags_PassthruCentralNode) |
                                          static_cast<ImGuiDockNodeFlags>(ImGuiDockNodeFlags_NoWindowMenuButton) |
                                          static_cast<ImGuiDockNodeFlags>(ImGuiDockNodeFlags_NoCloseButton);

/// Draws a dot on the tab of the current window.
void mark_tab(const view_context& with) {
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  if (window->DockNode == nullptr || window->DockNode->HostWindow == nullptr) return;
  const ImGuiTabBar* bar = window->DockNode->TabBar;
  if (bar == nullptr) return;
  const ImRect& tab = window->DC.DockTabItemRect;
  ImDrawList& list = *window->DockNode->HostWindow->DrawList;
  list.PushClipRect(bar->BarRect.Min, bar->BarRect.Max, true);  // The tab may be scrolled out of view.
  list.AddCircleFilled({tab.Min.x + with.px(5), tab.Min.y + with.px(7)}, with.px(3), with.colours.warning);
  list.PopClipRect();
}

/// Scales the sizes of the panels around the central panel. The sizes are in pixels, and the panels' content has grown.
void rescale_panels(ImGuiDockNode& node, float factor) {
  constexpr float most = 0.45F;  // share of the window, so that the central panel stays visible
  if (!node.IsSplitNode()) return;
  const std::size_t axis = node.SplitAxis == ImGuiAxis_X ? 0 : 1;
  for (ImGuiDockNode* child : node.ChildNodes) {
    if (!child->IsCentralNode() && !child->HasCentralNodeChild)
      child->SizeRef[axis] =
          std::min(child->SizeRef[axis] * factor, std::max(child->SizeRef[axis], node.Size[axis] * most));
    rescale_panels(*child, factor);
  }
}

/// The name of a view on the command line: "memory-map" for "Memory map", which needs no quotes.
std::string option_name(const view& of) {
  std::string made = lower_case(of.name());
  std::replace(made.begin(), made.end(), ' ', '-');
  return made;
}

}  // namespace

application::application(application_options options)
    : options_(std::move(options)), settings_(options_.config_folder), session_(options_.wake), scale_(options_.scale) {
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable | ImGuiConfigFlags_NavEnableKeyboard;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  io.ConfigInputTextCursorBlink = false;  // A blinking cursor would keep redrawing the window.
  io.ConfigDpiScaleFonts = false;
  session_.memory_by_category = settings_.memory_by_category;
  io.IniFilename = nullptr;  // ImGui truncates the file before writing it, so a full disk would lose the layout.
  notice_ = settings_.trouble();
  const auto layout = settings_.read_layout();
  layout_wanted_ = !layout;
  if (layout) ImGui::LoadIniSettingsFromMemory(layout->data(), layout->size());
  if (!layout && layout.error().code != error_code::not_found)
    notice_ = "The layout was not read and will not be saved: " + layout.error().to_string() + "; fix or remove it";
  fonts_ = load_typefaces();
  unit_ = scale_ * settings_.text_scale;
  apply_style(colours(), unit_);
  restyle_ = false;

  views_ = make_views(options_.wake, settings_);
  for (const auto& each : views_) each->visible = each->shown_at_first();
  recordings_ = find_recordings(options_.recordings_folder);
  session_.animations = options_.animations;
  session_.memory_bytes = options_.memory_bytes;
  session_.sources_from = options_.sources_from;
  session_.source_of = options_.around.source_of;
  session_.kept = [this](document_id of) { return kept_of(of); };
  session_.opened = [this](const document& which) {
    const bool is_demo = recorder_.is_demo() && which.path == recorder_.recording();
    const bool can_come_back = options_.around.keeps_files && !remote::is_live_address(which.path);
    if (!which.removed_at_close && !is_demo && can_come_back) settings_.add_recent(which.path);
  };
  for (const std::string& file : options_.files) open(file);
  add_commands();
  for (const auto& [id, text] : settings_.keys) commands_.set_key(id, chord_of(text));
}

void application::save_settings() {
  if (options_.around.keeps_files) remember_session();
  settings_.save();
  save_layout();
}

application::~application() {
  save_settings();
  views_.clear();
  ImGui::DestroyContext();
}

/// Stores the open recordings for "Reopen last session". If none is open, keeps the previous session.
void application::remember_session() {
  std::vector<settings::open_document> open;
  for (const auto& each : session_.all())
    if (each->ready() && !each->removed_at_close && !remote::is_live_address(each->path) &&
        open.size() < settings::recent_limit)
      open.push_back({each->path, each->visible.begin, each->visible.end, text_of(kept_of(each->id))});
  if (!open.empty()) settings_.last_session = std::move(open);
}

kept_view application::kept_of(document_id of) const {
  kept_view made;
  for (const auto& each : views_) each->keep(of, made);
  return made;
}

void application::restore_session() {
  for (const settings::open_document& each : settings_.last_session) {
    restored_[each.path] = each;
    open(each.path);
  }
}

/// Restores the visible range and the views of a recording of the last session, once the recording is ready.
void application::follow_restored() {
  if (restored_.empty()) return;
  document* shown = session_.active();
  if (shown == nullptr || !shown->ready()) return;
  const auto found = restored_.find(shown->path);
  if (found == restored_.end()) return;
  const settings::open_document was = found->second;
  restored_.erase(found);
  session_.show({was.begin, was.end}, false);
  if (was.views.empty()) return;
  auto kept = kept_view_of(was.views);
  if (kept) wanted_kept_ = std::move(*kept);
  if (!kept) notice_ = "The views were not restored: the last session " + kept.error().message;
}

void application::save_layout() {
  ImGui::GetIO().WantSaveIniSettings = false;
  if (!layout_wanted_) settings_.save_layout(ImGui::SaveIniSettingsToMemory());
}

result<void> application::start() { return boxes_.start(); }

void application::open(const std::string& path) {
  if (!is_saved_view(path)) return session_.open(path);
  const auto wanted = read_saved_view(path);
  if (!wanted) {
    notice_ = wanted.error().to_string();
    failures_.push_back(wanted.error());
    return;
  }
  wanted_view_ = {recording_of(path, *wanted), *wanted};
  session_.open(wanted_view_->first);
}

/// Shows the saved view that the user opened, once a recording is ready, provided that the view was saved from it.
void application::show_saved_view() {
  if (!wanted_view_) return;
  const document* shown = session_.active();
  if (shown == nullptr || shown->path != wanted_view_->first || !shown->ready()) {
    if (!session_.opening()) wanted_view_.reset();  // The recording could not be opened; the error is already shown.
    return;
  }
  const saved_view view = std::exchange(wanted_view_, std::nullopt)->second;
  if (!view.of.matches(identity_of(*shown))) {
    notice_ = "The view was not shown: it was saved from another recording named " + view.of.name;
    return;
  }
  session_.memory_by_category = view.memory_by_category;
  session_.go_to(view.visible, false);
  session_.select_range(view.range);
  session_.select({shown->id, view.selected, view.id});
  session_.set_moment(view.moment);
  wanted_kept_ = view.kept;
}

bool application::warns(std::string_view panel) const {
  return std::any_of(views_.begin(), views_.end(),
                     [panel](const auto& each) { return each->name() == panel && each->warns(); });
}

bool application::busy() const {
  return session_.busy() || reveal_ ||
         std::any_of(views_.begin(), views_.end(), [](const auto& each) { return each->busy(); });
}
bool application::live() const {
  return recorder_.running() ||
         std::any_of(session_.all().begin(), session_.all().end(), [](const auto& d) { return d->live; });
}
bool application::playing() const {
  return std::any_of(views_.begin(), views_.end(), [](const auto& each) { return each->playing(); });
}
bool application::animating() const {
  const bool reads = paths_.reading() || record_dialog_.reading() || saving_.running();
  return session_.moving() || commands_.any_queued() || reveal_ || front_tabs_in_ > 0 || raised_ != nullptr || reads;
}

std::string application::title() const {
  const document* shown = session_.active();
  return shown == nullptr ? "Sluice" : shown->title + " - Sluice";
}

void application::set_scale(float scale) {
  if (scale == scale_) return;
  scale_ = scale;
  restyle_ = true;
}

void application::use_theme(theme_kind kind) {
  settings_.theme = kind;
  restyle_ = true;
}

bool application::show_only(std::string_view name) {
  for (const auto& each : views_)
    if (option_name(*each) == lower_case(name)) {
      only_ = each.get();
      return true;
    }
  return false;
}

std::vector<std::string> application::view_names() const {
  std::vector<std::string> names;
  for (const auto& each : views_) names.push_back(option_name(*each));
  return names;
}

view_context application::context() {
  std::optional<time_ns> hovered;
  for (const auto& each : views_)
    if (!hovered) hovered = each->hovered_time();
  return {session_, commands_,    colours(), fonts_, boxes_, tables_, scale_ * settings_.text_scale,
          hovered,  !tips_hidden_};
}

void application::hide_tips() {
  const ImGuiIO& io = ImGui::GetIO();
  const bool moved = io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 || ImGui::IsAnyMouseDown();
  bool pressed = false;
  // A key press other than of a modifier hides tooltips. Modifiers change the meaning of the mouse.
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_GamepadStart && !pressed; ++key)
    pressed = (key < ImGuiKey_LeftCtrl || key > ImGuiKey_RightSuper) &&
              ImGui::IsKeyPressed(static_cast<ImGuiKey>(key), false);
  tips_hidden_ = (tips_hidden_ || pressed) && !moved;
}

void application::frame() {
  if (restyle_) {
    const float unit = scale_ * settings_.text_scale;
    ImGuiDockNode* panels = dock_ == 0 ? nullptr : ImGui::DockBuilderGetNode(dock_);
    if (panels != nullptr && unit != unit_) rescale_panels(*panels, unit / unit_);
    unit_ = unit;
    apply_style(colours(), unit);
    restyle_ = false;
  }
  hide_tips();
  update();
  if (new_key_for_.empty()) commands_.take_keys();
  draw_menu_bar();
  draw_toolbar();
  draw_panels();
  draw_palette();
  draw_keys();
  draw_words();
  draw_about();
  paths_.draw(context());
  if (const auto asked = record_dialog_.draw(context(), settings_, recorder_)) start_recording(*asked);
  draw_quit();
  draw_close();
  draw_notice();
  draw_opening();
}

void application::update() {
  session_.begin_action();
  commands_.run_queued();
  choose_table();
  follow_leaving();
  session_.update(static_cast<double>(ImGui::GetIO().DeltaTime));
  take_failures();
  show_saved_view();
  follow_recorder();
  reveal_selection();
  follow_restored();
  follow_saving();
  raise_wanted();
  for (const auto& each : views_) each->follow(context());
  if (dialog_) take_chosen_file();
  if (sources_dialog_) choose_sources();
  const document* shown = session_.active();
  const document_id now = shown == nullptr ? document_id::none : shown->id;
  if (now != drawn_document_) {
    drawn_document_ = now;
    for (const auto& each : views_) each->reset();
    reveal_query_ = {};
  }
  if (const auto kept = std::exchange(wanted_kept_, std::nullopt))
    for (const auto& each : views_) each->restore(context(), *kept);
}

void application::take_failures() {
  for (const error& failure : session_.take_failures()) {
    const bool not_there_yet = failure.file == recorder_.recording() && recorder_.running();
    if (not_there_yet) {
      recording_tried_ = false;
    } else {
      notice_ = failure.to_string();
      failures_.push_back(failure);
    }
  }
}

void application::reveal_selection() {
  if (!reveal_) return;
  document* shown = session_.active();
  const selection chosen = session_.selected();
  if (shown == nullptr || !shown->engine ||
      (chosen.kind != selection_kind::event && chosen.kind != selection_kind::block)) {
    reveal_ = false;
    return;
  }
  query::details_query wanted;
  if (chosen.kind == selection_kind::event) {
    wanted.event = static_cast<trace::event_id>(chosen.id);
  } else {
    wanted.block = static_cast<trace::block_id>(chosen.id);
  }
  const auto result = reveal_query_.ask(*shown->engine, wanted);
  if (result.failure) reveal_ = false;
  if (!result || !result.complete) return;
  reveal_ = false;
  const time_range around = shown_around(result->span, shown->active);
  if (reveal_is_step_)
    session_.go_to(around, true);
  else
    session_.show(around, true);
  session_.reveal(chosen, result->span, result->track);
  bring_forward(topic::selection);
}

void application::layout_panels(unsigned dock, ImVec2 size) {
  ImGui::DockBuilderRemoveNode(dock);
  ImGui::DockBuilderAddNode(dock, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodeSize(dock, size);
  const float unit = scale_ * settings_.text_scale;
  ImGuiID centre = dock;
  ImGuiID right = 0;
  ImGuiID below = 0;
  const bool wide = size.x >= 1080 * unit;
  if (wide) {
    const float share = std::clamp(420 * unit / size.x, 0.2F, 0.4F);
    ImGui::DockBuilderSplitNode(centre, ImGuiDir_Right, share, &right, &centre);
  }
  ImGui::DockBuilderSplitNode(centre, ImGuiDir_Down, wide ? below_share_ : below_share_ * 1.2F, &below, &centre);
  if (!wide) right = below;
  for (const auto& each : views_) {
    const panel_place place = each->place();
    const ImGuiID node = place == panel_place::centre ? centre : place == panel_place::right ? right : below;
    ImGui::DockBuilderDockWindow(each->name(), node);
  }
  if (ImGuiDockNode* node = ImGui::DockBuilderGetNode(centre))
    node->SetLocalFlags(node->LocalFlags | ImGuiDockNodeFlags_NoTabBar);
  ImGui::DockBuilderFinish(dock);
}

void application::draw_panels() {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(viewport->WorkPos);
  ImGui::SetNextWindowSize(viewport->WorkSize);
  const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                 ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                 ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoNavFocus;
  const document* shown = session_.active();
  const bool panels = shown != nullptr && shown->ready();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0F);
  ImGui::Begin("##base", nullptr, panels ? flags : flags & ~ImGuiWindowFlags_NoScrollbar);
  ImGui::PopStyleVar(2);
  view_context with = context();
  const ImGuiID dock = dock_ = ImGui::GetID("panels");
  if (ImGui::GetIO().WantSaveIniSettings) save_layout();
  if (panels && only_ != nullptr) {
    ImGui::SetCursorPos({with.px(10), with.px(8)});
    ImGui::BeginChild("only", {viewport->WorkSize.x - with.px(20), viewport->WorkSize.y - with.px(16)});
    only_->draw(with);
    ImGui::EndChild();
  } else if (panels) {
    if (layout_wanted_) {
      layout_panels(dock, viewport->WorkSize);
      front_tabs_in_ = 4;
    }
    layout_wanted_ = layout_wanted_ && !bars_placed_;
    ImGui::DockSpace(dock, {0, 0}, dock_flags);
  } else {
    ImGui::DockSpace(dock, {0, 0}, ImGuiDockNodeFlags_KeepAliveOnly);
    if (shown != nullptr && shown->engine) {
      empty_state(with, icon::chart, shown->live ? "Waiting for the first event" : "This recording is empty",
                  shown->live ? "The recording has started; no events yet."
                              : "It contains no events. `sluice report` prints the messages in the file.");
    } else if (session_.opening() || (recorder_.running() && recording_tried_)) {
      empty_state(with, icon::file, "Opening...", printable(session_.opening_path()));
    } else if (recorder_.running()) {
      empty_state(with, icon::play, recorder_.is_demo() ? "Starting the demo" : "Waiting for the first event",
                  recorder_.name());
    } else {
      welcome_.draw(with, settings_, recordings_, options_.demos, options_.around);
    }
  }
  ImGui::End();
  if (!panels || only_ != nullptr) return;
  for (const auto& each : views_)
    if (each->visible) draw_panel(*each, with);
  panel_to_copy_.clear();
  // In a new layout ImGui shows the tab that was docked last, but the first tab should be shown. Tab bars exist only
  // from the next frame on.
  if (front_tabs_in_ > 0 && --front_tabs_in_ == 0) {
    ImGui::SetWindowFocus(first_at(panel_place::centre).name());
    for (const panel_place place : {panel_place::below, panel_place::right}) first_at(place).bring_forward();
  }
}

void application::arrange(const char* below, const char* right, float share) {
  for (const auto& each : views_) each->visible = each->shown_at_first();
  in_front_ = {below, right};
  below_share_ = share;
  layout_wanted_ = true;
}

void application::raise(view& which) {
  which.visible = true;
  raised_ = &which;
  raise_tries_ = 4;
  raise_wanted();  // Works at once if the panel has a tab.
}

void application::raise_wanted() {
  if (raised_ == nullptr) return;
  const ImGuiWindow* window = ImGui::FindWindowByName(raised_->name());
  const bool drawn =
      window != nullptr && window->WasActive && (window->DockNode == nullptr || window->DockNode->TabBar);
  if (drawn) {
    raised_->bring_forward();
    ImGui::SetWindowFocus(raised_->name());
  }
  if (drawn || --raise_tries_ == 0) raised_ = nullptr;
}

const view& application::first_at(panel_place place) const {
  const auto here = [place](const auto& each) { return each->place() == place; };
  const auto chosen = std::find_if(views_.begin(), views_.end(), [&](const auto& each) {
    return here(each) && std::find(in_front_.begin(), in_front_.end(), each->name()) != in_front_.end();
  });
  if (chosen != views_.end()) return **chosen;
  auto found = std::find_if(views_.begin(), views_.end(),
                            [&](const auto& each) { return here(each) && each->visible && each->wants_front(); });
  if (found == views_.end()) found = std::find_if(views_.begin(), views_.end(), here);
  IM_ASSERT(found != views_.end());
  return **found;
}

view* application::cancellable() const {
  const auto found = std::find_if(views_.begin(), views_.end(), [](const auto& each) { return each->can_cancel(); });
  return found == views_.end() ? nullptr : found->get();
}

void application::bring_forward(topic of) const {
  for (const auto& each : views_)
    if (each->tells_of() == of && !would_cover_choices(*each)) each->bring_forward();
}

bool application::would_cover_choices(const view& which) const {
  const ImGuiWindow* window = ImGui::FindWindowByName(which.name());
  return window != nullptr && std::any_of(views_.begin(), views_.end(), [window](const auto& each) {
           if (!each->offers_choices()) return false;
           const ImGuiWindow* other = ImGui::FindWindowByName(each->name());
           return other != nullptr && other->DockNode != nullptr && other->DockNode == window->DockNode &&
                  other->DockTabIsVisible;
         });
}

void application::draw_panel(view& which, view_context& with) {
  const bool centre = which.place() == panel_place::centre;
  if (centre) ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGuiWindowFlags flags =
      which.scrolls() ? ImGuiWindowFlags_None : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  if (which.uses_arrows()) flags |= ImGuiWindowFlags_NoNavInputs;
  // When the window starts, all panels appear at the same time. None may get the focus, so that the tabs that were in
  // front stay in front.
  flags |= ImGuiWindowFlags_NoFocusOnAppearing;
  ImGui::SetNextWindowSize({480 * with.scale, 320 * with.scale}, ImGuiCond_FirstUseEver);
  // A layout that an earlier version saved does not contain newer panels.
  const ImGuiWindow* below = ImGui::FindWindowByName(first_at(panel_place::below).name());
  if (!centre && below != nullptr && below->DockId != 0)
    ImGui::SetNextWindowDockID(below->DockId, ImGuiCond_FirstUseEver);
  const bool shown = ImGui::Begin(which.name(), centre ? nullptr : &which.visible, flags);
  const bool on_tab = !centre && ImGui::IsItemHovered() && ImGui::IsMouseReleased(ImGuiMouseButton_Right);
  if (shown) {
    const bool copied = panel_to_copy_ == which.name();
    if (copied) ImGui::LogToClipboard();
    which.draw(with);
    if (copied) {
      ImGui::LogFinish();
    }
  }
  draw_panel_menu(which, with, on_tab);
  if (which.warns()) mark_tab(with);
  ImGui::End();
  if (centre) ImGui::PopStyleVar();
}

}  // namespace sluice::gui
