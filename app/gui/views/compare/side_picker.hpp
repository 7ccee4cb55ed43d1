#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/views/parts/view.hpp"
#include "core/metrics/comparison/comparison.hpp"
#include "core/query/types/comparison.hpp"

namespace sluice::gui {

enum class side_kind : std::uint8_t { none, whole, selected_range, kept_range, device, process, step };

/// The user's choice for one side of the comparison.
struct side_choice {
  side_kind kind = side_kind::none;
  document_id document = document_id::none;  ///< Set if `kind` is `whole`, `device`, `process` or `step`.
  trace::device_id device{};                 ///< Set if `kind` is `device`.
  time_range range{};                        ///< Set, like `number`, if `kind` is `step`.
  std::int64_t number = 0;
  trace::process_id process{};  ///< Set if `kind` is `process`.
  friend bool operator==(const side_choice&, const side_choice&) = default;
};

/// A side whose document is open, so that it can be queried.
struct open_side {
  const document* recording = nullptr;
  time_range range;
  std::optional<trace::device_id> device;
  std::string label;
  trace::process_id process{};
};

[[nodiscard]] bool same_side(const open_side& one, const open_side& other);

/// How to match the devices of the two sides. Two ranges of one recording have the same devices.
[[nodiscard]] metrics::device_match match_devices(const open_side& before, const open_side& after);

/// The open document with this id; null if there is none.
[[nodiscard]] const document* find_document(const documents& state, document_id id);

/// The choice of the two sides: the lists to choose from, the commands that choose, and the defaults. It stays the same
/// when another document becomes active.
class side_picker {
 public:
  /// Registers the commands that choose both sides.
  void add_commands(const command_home& home);
  /// Makes the choices that had to wait until a recording was open or its steps were known. Call once per frame.
  void follow(const view_context& with);
  /// True while a choice waits for the steps of a recording.
  [[nodiscard]] bool waits_for_steps() const { return steps_wanted_ != document_id::none; }
  /// Replaces sides that were never chosen, or whose document was closed.
  void choose_defaults(const view_context& with);
  void swap() { std::swap(before_, after_); }

  void draw_before_combo(const view_context& with) { draw_combo(with, "##before", before_); }
  void draw_after_combo(const view_context& with) { draw_combo(with, "##after", after_); }

  /// The first side; nullopt if its document is not open or its range is not selected.
  [[nodiscard]] std::optional<open_side> before(const view_context& with) const { return resolve(with, before_); }
  [[nodiscard]] std::optional<open_side> after(const view_context& with) const { return resolve(with, after_); }
  /// True if the second side is the range that is selected on the timeline.
  [[nodiscard]] bool follows_selected_range() const { return after_.kind == side_kind::selected_range; }

 private:
  struct kept_range {
    document_id document = document_id::none;
    time_range range;
  };

  [[nodiscard]] std::optional<open_side> resolve(const view_context& with, const side_choice& choice) const;
  void draw_combo(const view_context& with, const char* id, side_choice& choice);
  void draw_choices(const view_context& with, const document& recording, side_choice& choice);
  void draw_step_choice(const view_context& with, const document& recording, side_choice& choice);
  /// The steps of the document; null until known.
  [[nodiscard]] const std::vector<index::step>* find_steps(const document& recording);
  void follow_steps(const view_context& with);

  side_choice before_, after_;
  std::optional<kept_range> kept_;
  screen_slot<query::report_query> ranks_query_;
  screen_slot<query::compared_side_query> steps_query_;
  document_id steps_wanted_ = document_id::none;  ///< Once the steps of this document are known, two of them are
                                                  ///< compared.
  std::int64_t typed_step_ = 0;                   ///< The step number typed in the list of sides.
};

}  // namespace sluice::gui
