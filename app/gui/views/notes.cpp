// Notes and bookmarks of the active recording, which are stored in a file beside the recording; and saved views.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/gui/views/parts/note_lists.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

constexpr std::size_t no_note = ~std::size_t{0};

constexpr panel_info notes_panel{.title = "Notes", .scrolls = false, .shown_at_first = false, .offers_choices = true};

class notes_view final : public view {
 public:
  explicit notes_view(std::shared_ptr<note_lists> notes) : view(notes_panel), notes_(std::move(notes)) {}

  void reset() override {
    chosen_ = editing_ = no_note;
    fresh_ = false;
  }

  void add_commands(const command_home& home) override {
    const std::string layout = home.remembered.layout_file();
    if (!layout.empty()) config_folder_ = std::filesystem::path(layout).parent_path().string();
    static constexpr auto chosen = [](auto& at) {
      return at.state.ready() && at.self.chosen_ < at.self.list(at.state).size();
    };
    static constexpr auto any = [](auto& at) { return at.state.ready() && !at.self.list(at.state).empty(); };
    static constexpr command_row<acts_on<notes_view>> rows[] = {
        {.id = "notes.add",
         .title = "Add note",
         .group = "Notes",
         .keys = {ImGuiKey_B},
         .run = [](auto& at, auto& with) { at.self.add(at.state, at.commands, with); },
         .enabled = when_ready},
        {.id = "notes.edit",
         .title = "Edit note",
         .group = "Notes",
         .run =
             [](auto& at, auto& with) {
               if (const auto* words = std::get_if<std::string>(&with))
                 return at.self.set_text(*at.state.active(), at.self.chosen_, *words);
               at.self.editing_ = at.self.chosen_;
               at.self.focus_ = true;
             },
         .enabled = chosen},
        {.id = "notes.delete",
         .title = "Delete note",
         .group = "Notes",
         .run =
             [](auto& at, auto&) {
               at.self.remove(*at.state.active(), at.self.chosen_);
               at.self.editing_ = no_note;
             },
         .enabled = chosen},
        {.id = "notes.previous",
         .title = "Previous note",
         .group = "Notes",
         .keys = {ImGuiKey_LeftBracket},
         .run = [](auto& at, auto&) { at.self.step(at.state, at.commands, false); },
         .enabled = any},
        {.id = "notes.next",
         .title = "Next note",
         .group = "Notes",
         .keys = {ImGuiKey_RightBracket},
         .run = [](auto& at, auto&) { at.self.step(at.state, at.commands, true); },
         .enabled = any},
        // The argument is the index of the note in the list.
        {.id = "notes.go",
         .run =
             [](auto& at, auto& with) {
               const auto* place = std::get_if<double>(&with);
               if (place == nullptr || !(*place >= 0 && *place < static_cast<double>(at.self.list(at.state).size())))
                 return;
               at.self.chosen_ = static_cast<std::size_t>(*place);
               at.self.go_to(at.state, at.commands, at.self.list(at.state)[at.self.chosen_]);
             },
         .enabled = any},
        {.id = "view.save",
         .title = "Save view...",
         .group = "Notes",
         .run =
             [](auto& at, auto& with) {
               const auto* path = std::get_if<std::string>(&with);
               if (path != nullptr) return at.self.write_view(at.state, *path);
               at.commands.invoke("file.ask_path", table_text{at.state.active()->path + ".sluiceview", "view.save"});
             },
         .enabled = when_ready}};
    home.commands.add(rows, acts_on<notes_view>{home, *this});
  }

  /// Reads the notes of a recording when the recording is first activated.
  void follow(const view_context& with) override {
    const document* subject = with.state.active();
    if (subject != nullptr && subject->ready() && !all_.contains(subject->id)) load(*subject);
  }

  void draw(view_context& with) override {
    const document& subject = *with.state.active();
    const std::vector<user_note>& notes = list(with.state);
    command_button(with, "notes.add");
    ImGui::SameLine();
    command_button(with, "notes.delete", "Delete");
    ImGui::SameLine();
    command_button(with, "view.save");
    if (const std::string& said = all_[subject.id].said; !said.empty())
      clipped_text(printable(said), ImGui::GetContentRegionAvail().x);
    if (const std::string& trouble = all_[subject.id].trouble; !trouble.empty()) {
      ImGui::PushStyleColor(ImGuiCol_Text, with.colours.warning);
      ImGui::TextWrapped("%s", printable(trouble).c_str());
      ImGui::PopStyleColor();
    }
    if (notes.empty()) {
      return empty_state(with, icon::info, "No notes",
                         "Choose a moment, range, block or event and add a note about it. Notes are stored in a small "
                         "file beside the recording.");
    }
    draw_list(with, notes);
  }

 private:
  struct notes_of_document {
    std::string trouble;       ///< Why the notes are not stored in the usual place; empty if they are.
    std::string said;          ///< States that a view was saved, and where.
    bool read_failed = false;  ///< The file could not be read as notes, so it must not be overwritten.
  };

  [[nodiscard]] const std::vector<user_note>& list(const documents& state) {
    return notes_->by_document[state.active()->id];
  }

  void load(const document& subject) {
    notes_of_document& of_document = all_[subject.id];
    for (const std::string& path : {notes_path(subject.path), notes_path_in(config_folder_, subject.path)}) {
      if (path.empty()) continue;
      auto found = read_notes(path, identify_recording(subject));
      if (!found && found.error().code == error_code::not_found) continue;
      if (!found) {
        of_document.trouble = "The notes were not read and will not be saved: " + found.error().to_string();
        of_document.read_failed = true;
        return;
      }
      std::vector<user_note>& notes = notes_->by_document[subject.id];
      notes = std::move(*found);
      sort(notes);
      return;
    }
  }

  void save(const document& subject) {
    notes_of_document& of_document = all_[subject.id];
    if (of_document.read_failed || subject.removed_at_close) return;
    of_document.trouble.clear();
    const auto written =
        write_notes(notes_path(subject.path), identify_recording(subject), notes_->by_document[subject.id]);
    if (written) return;
    const std::string other = notes_path_in(config_folder_, subject.path);
    if (other.empty()) {
      of_document.trouble = "The notes were not saved: " + written.error().to_string();
      return;
    }
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(other).parent_path(), ignored);
    const auto kept = write_notes(other, identify_recording(subject), notes_->by_document[subject.id]);
    of_document.trouble = kept ? "The recording's folder is not writable. The notes are stored in " + other
                               : "The notes were not saved: " + kept.error().to_string();
  }

  static void sort(std::vector<user_note>& notes) {
    std::stable_sort(notes.begin(), notes.end(), [](const user_note& a, const user_note& b) {
      return std::pair(a.range.begin, a.range.end) < std::pair(b.range.begin, b.range.end);
    });
  }

  void add(const documents& state, const command_registry& commands, const argument& with) {
    const document& subject = *state.active();
    std::vector<user_note>& notes = notes_->by_document[subject.id];
    if (all_[subject.id].read_failed || notes.size() >= user_note::most) return;
    user_note note;
    const selection& selected = state.selected();
    if (selected.kind == selection_kind::block || selected.kind == selection_kind::event) {
      note.about = selected.kind;
      note.id = selected.id;
    }
    const time_ns now = state.moment().value_or((subject.visible.begin + subject.visible.end) / 2);
    note.range = state.range().value_or(time_range{now, now});
    if (const auto* words = std::get_if<std::string>(&with)) note.text = words->substr(0, user_note::longest_text);
    notes.push_back(note);
    sort(notes);
    chosen_ = static_cast<std::size_t>(std::find(notes.begin(), notes.end(), note) - notes.begin());
    save(subject);
    commands.invoke("panel.focus.Notes");
    if (!note.text.empty()) return;
    editing_ = chosen_;
    focus_ = fresh_ = true;
  }

  void remove(const document& subject, std::size_t which) {
    std::vector<user_note>& notes = notes_->by_document[subject.id];
    notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(which));
    chosen_ = no_note;
    save(subject);
  }

  void set_text(const document& subject, std::size_t which, const std::string& words) {
    std::vector<user_note>& notes = notes_->by_document[subject.id];
    if (which >= notes.size()) return;
    notes[which].text = words.substr(0, user_note::longest_text);
    save(subject);
  }

  void step(const documents& state, const command_registry& commands, bool forward) {
    const std::size_t count = list(state).size();
    if (chosen_ >= count) {
      chosen_ = forward ? 0 : count - 1;
    } else {
      chosen_ = (chosen_ + (forward ? 1 : count - 1)) % count;
    }
    go_to(state, commands, list(state)[chosen_]);
  }

  static void go_to(const documents& state, const command_registry& commands, const user_note& to) {
    const document& subject = *state.active();
    commands.invoke("moment.set", time_range{to.range.begin, to.range.begin});
    if (to.range.length() > 0) commands.invoke("selection.range", to.range);
    if (to.about != selection_kind::none) commands.invoke("selection.set", selection{subject.id, to.about, to.id});
    const bool shown = to.range.begin >= subject.visible.begin && to.range.end <= subject.visible.end;
    if (shown) return;
    const time_ns half = std::max<time_ns>({subject.visible.length() / 2, to.range.length(), 1});
    const time_ns middle = to.range.begin + to.range.length() / 2;
    commands.invoke("timeline.go_to", time_range{middle - half, middle + half});
  }

  static std::string get_words(const user_note& each) {
    if (each.about == selection_kind::block) return "block " + std::to_string(each.id);
    if (each.about == selection_kind::event) return "event " + std::to_string(each.id);
    return each.range.length() > 0 ? "range of " + format_time(each.range.length()) : "moment";
  }

  void draw_list(const view_context& with, const std::vector<user_note>& notes) {
    table_of<user_note> table("Notes", notes);
    table.moment("at", "begin_ns", [](const auto& each) { return each.range.begin; });
    table.text("about", "about", [](const auto& each) { return table_cell::text(get_words(each)).in(tone::muted); });
    table_column& text = table.text("text", "text", [](const auto& each) {
      return each.text.empty() ? table_cell::none("(empty: double-click to edit)")
                               : table_cell::text(printable(each.text));
    });
    text.draw = [&](std::size_t row) {
      if (row != editing_) return false;
      draw_editor(*with.state.active(), row);
      return true;
    };
    table.moment("", "end_ns", [](const auto& each) { return each.range.end; });
    table.leads_to([&](const auto& each) {
      row_target target;
      target.range = each.range;
      if (each.about != selection_kind::none) target.shows = {with.state.active()->id, each.about, each.id};
      return target;
    });
    table.chosen = [this](std::size_t row) { return row == chosen_; };
    table.menu = [&](std::size_t row) {
      chosen_ = row;  // The commands of the menu apply to the chosen note.
      for (const char* id : {"notes.edit", "notes.delete"}) command_entry(with, id);
    };
    std::optional<std::size_t> clicked;
    table.click = [&](std::size_t row, std::size_t) { clicked = row; };
    table.double_click = [this](std::size_t row) {
      editing_ = row;
      focus_ = true;
    };
    table_options options{.scrolls = true, .stretched_column = 2};
    if (focus_) options.keep = editing_;
    tables_.draw(with, table, options);
    if (!clicked) return;
    chosen_ = *clicked;
    go_to(with.state, with.commands, notes[chosen_]);
  }

  void draw_editor(const document& subject, std::size_t row) {
    if (focus_) {
      draft_ = notes_->by_document[subject.id][row].text;
      ImGui::SetKeyboardFocusHere();
      focus_ = false;
    }
    ImGui::SetNextItemWidth(-FLT_MIN);
    const bool entered = ImGui::InputTextWithHint("##text", fresh_ ? "Enter keeps the note, Esc discards it" : "",
                                                  &draft_, ImGuiInputTextFlags_EnterReturnsTrue);
    if (!entered && !ImGui::IsItemDeactivated()) return;
    if (fresh_ && !entered && draft_.empty()) {
      remove(subject, row);
    } else {
      set_text(subject, row, draft_);
    }
    fresh_ = false;
    editing_ = no_note;
  }

  void write_view(const documents& state, const std::string& wanted) {
    const document& subject = *state.active();
    const std::string path = is_saved_view(wanted) ? wanted : wanted + ".sluiceview";
    saved_view output;
    output.recording = identify_recording(subject);
    output.visible = subject.target;
    output.range = state.range();
    output.moment = state.moment();
    const selection& selected = state.selected();
    if (selected.kind == selection_kind::block || selected.kind == selection_kind::event) {
      output.selected = selected.kind;
      output.id = selected.id;
    }
    output.memory_by_category = state.memory_by_category;
    if (state.kept) output.kept = state.kept(subject.id);
    const auto written = write_saved_view(path, output);
    all_[subject.id].trouble = written ? "" : "The view was not saved: " + written.error().to_string();
    all_[subject.id].said =
        written ? "The view was saved in " + path + ". To share it, send it together with the recording." : "";
  }

  std::string config_folder_;
  std::shared_ptr<note_lists> notes_;
  std::map<document_id, notes_of_document> all_;
  std::size_t chosen_ = no_note;
  std::size_t editing_ = no_note;
  bool focus_ = false;
  bool fresh_ = false;  ///< The edited note has just been added, so it is discarded unless the user enters a text.
  std::string draft_;
  view_tables tables_;
};

}  // namespace

std::unique_ptr<view> make_notes_view(std::shared_ptr<note_lists> notes) {
  return std::make_unique<notes_view>(std::move(notes));
}

}  // namespace sluice::gui
