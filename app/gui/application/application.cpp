#include "app/gui/application/application.hpp"

#include <algorithm>

#include "app/gui/shell/bars/tab_layout.hpp"
#include "core/remote/address.hpp"

namespace sluice::gui {
namespace {

/// Returns whether tooltips are hidden in this frame. `hidden`: they were in the last one. A key press hides them, a
/// movement of the mouse shows them again. Modifiers do not hide them, because modifiers change the meaning of the
/// mouse.
bool hides_tips(bool hidden) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool moved = io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 || ImGui::IsAnyMouseDown();
  bool pressed = false;
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_GamepadStart && !pressed; ++key)
    pressed = (key < ImGuiKey_LeftCtrl || key > ImGuiKey_RightSuper) &&
              ImGui::IsKeyPressed(static_cast<ImGuiKey>(key), false);
  return (hidden || pressed) && !moved;
}

}  // namespace

application::application(application_options options)
    : options_(std::move(options)), settings_(options_.config_folder), session_(options_.wake) {
  notices_.say(settings_.trouble());
  if (const auto loaded = layout_.load(); !loaded)
    notices_.say("The layout was not read and will not be saved: " + loaded.error().to_string() + "; fix or remove it");
  set_up_session();
  open(options_.files);
  add_commands();
  for (const auto& [id, text] : settings_.keys) commands_.set_key(id, parse_chord(text));
}

void application::set_up_session() {
  session_.memory_by_category = settings_.memory_by_category;
  session_.animations = options_.animations;
  session_.memory_bytes = options_.memory_bytes;
  session_.sources_from = options_.sources_from;
  session_.get_source = options_.around.get_source;
  session_.kept = [this](document_id document) { return panels_.keep(document); };
  session_.opened = [this](const document& opened) {
    const bool is_demo = process_.is_demo() && opened.path == process_.recording();
    const bool can_come_back = options_.around.keeps_files && !remote::is_live_address(opened.path);
    if (!opened.removed_at_close && !is_demo && can_come_back) settings_.add_recent(opened.path);
  };
}

void application::add_commands() {
  // Menus and the palette list the commands in this order: in "Analyze", those of the views follow those of the
  // selection.
  files_.add(commands_);
  recorder_.add_commands(commands_);
  saver_.add_commands(commands_);
  selection_.add(commands_);
  panels_.add_commands({commands_, session_, settings_});
  overlays_.add_palette_commands(commands_);
  appearance_.add_commands(commands_);
  focus_.add_commands(commands_);
  layout_.add_commands(commands_);
  area_.add_commands(commands_, session_);
  overlays_.add_help_commands(commands_);
}

application::~application() { save_settings(); }

void application::save_settings() {
  if (options_.around.keeps_files) opener_.remember_session();
  settings_.save();
  layout_.save();
}

void application::frame() {
  if (const float factor = appearance_.apply_changes(); factor != 1) layout_.rescale(factor);
  tips_hidden_ = hides_tips(tips_hidden_);
  update();
  if (!overlays_.takes_keys()) commands_.take_keys();
  draw();
}

void application::update() {
  session_.begin_action();
  commands_.run_queued();
  saver_.choose_tables(commands_);
  confirmation_.follow();
  session_.update(static_cast<double>(ImGui::GetIO().DeltaTime));
  for (const error& failure : session_.take_failures())
    if (!recorder_.retries(failure)) notices_.add_failure(failure);
  opener_.show_saved_view();
  if (recorder_.follow()) confirmation_.recording_ended();
  selection_.follow();
  opener_.show_last_session();
  opener_.remember_verdict();
  saver_.follow();
  if (focus_.pending()) session_.comparisons.leave();  // Panels show the active document.
  focus_.follow();
  if (focus_.pending()) area_.restore();
  front_.follow(session_, layout_.settling());
  panels_.follow(context());
  files_.follow();
  const document* shown = session_.active();
  if (panels_.follow_document(shown == nullptr ? document_id::none : shown->id)) selection_.reset();
  if (const auto kept = opener_.take_kept_view()) panels_.restore(context(), *kept);
}

void application::draw() {
  view_context with = context();
  menu_bar_.draw(with);
  tool_bar_.draw(with, process_, recorder_.progress());
  if (area_.draw(with, tool_bar_.placed(), saver_.panel_to_copy())) saver_.forget_panel_to_copy();
  overlays_.draw(with);
}

view_context application::context() {
  return {.state = session_,
          .commands = commands_,
          .colours = appearance_.colours(),
          .fonts = appearance_.fonts(),
          .boxes = boxes_,
          .tables = saver_.tables(),
          .scale = appearance_.scale(),
          .hovered_time = panels_.hovered_time(),
          .tips = !tips_hidden_,
          .item = &selection_.item()};
}

std::string application::title() const {
  if (const compared_documents* compared = session_.comparisons.front())
    return tab_titles(session_).get(*compared, "and") + " - Sluice";
  const document* shown = session_.active();
  return shown == nullptr ? "Sluice" : shown->title + " - Sluice";
}

bool application::busy() const {
  return session_.busy() || selection_.revealing() || panels_.busy() || area_.comparing();
}

bool application::animating() const {
  const bool reads = choosers_.reading() || recorder_.reading() || saver_.saving() ||
                     (session_.active() == nullptr && area_.reading());
  return session_.moving() || commands_.any_queued() || selection_.revealing() || layout_.settling() ||
         focus_.pending() || front_.pending() || reads;
}

bool application::live() const {
  return process_.running() ||
         std::any_of(session_.all().begin(), session_.all().end(), [](const auto& d) { return d->live; });
}

}  // namespace sluice::gui
