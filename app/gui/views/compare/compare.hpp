#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "app/gui/views/compare/aligned_curves.hpp"
#include "app/gui/views/compare/difference_flames.hpp"
#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/view.hpp"
#include "core/query/results/panels/comparison.hpp"

namespace sluice::gui {

/// The user's choice for one side of the comparison.
struct side_choice {
  enum class what : std::uint8_t { none, whole, selected_range, kept_range, device, process, step };
  what kind = what::none;
  document_id document = document_id::none;  ///< Set if `kind` is `whole`, `device`, `process` or `step`.
  trace::device_id device{};                 ///< Set if `kind` is `device`.
  time_range range{};                        ///< Set, like `number`, if `kind` is `step`.
  std::int64_t number = 0;
  trace::process_id process{};  ///< Set if `kind` is `process`.
  friend bool operator==(const side_choice&, const side_choice&) = default;
};

/// Compares two recordings, two ranges or steps of one recording, two devices, or two processes (ranks). Shows aligned
/// curves, metrics, what grew, and a flame graph of the difference. The comparison stays the same when another document
/// becomes active.
class compare_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Compare"; }
  [[nodiscard]] bool shown_at_first() const override { return false; }
  [[nodiscard]] bool scrolls() const override { return false; }
  [[nodiscard]] bool offers_choices() const override { return true; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void follow(const view_context& with) override;
  [[nodiscard]] bool busy() const override {
    return jump_.has_value() || waiting_ || steps_wanted_ != document_id::none;
  }

  // For tests.
  [[nodiscard]] std::shared_ptr<const metrics::comparison> shown() const { return shown_; }
  [[nodiscard]] const aligned_curves& curves() const { return curves_; }

 private:
  /// A side whose document is open, so that it can be queried.
  struct side {
    const document* of = nullptr;
    time_range range;
    std::optional<trace::device_id> device;
    std::string label;
    trace::process_id process{};
    [[nodiscard]] bool same_as(const side& other) const {
      return of == other.of && range == other.range && device == other.device && process == other.process;
    }
  };
  struct kept_range {
    document_id document = document_id::none;
    time_range range;
  };
  /// A pending request to go to the largest block of a group, once that block is known.
  struct jump {
    document_id document = document_id::none;
    time_ns time = 0;
    query::blocks_query query;
    trace::device_id device{};
    trace::memory_kind kind = trace::memory_kind::unknown;
    std::unordered_set<std::uint64_t> stacks;
    std::optional<index::category> category;
  };
  enum class grouping : std::uint8_t { line, module, category };

  [[nodiscard]] static const document* find(const documents& in, document_id id);
  [[nodiscard]] std::optional<side> resolve(const view_context& with, const side_choice& choice) const;
  void choose_defaults(const view_context& with);
  void draw_controls(const view_context& with);
  void draw_side_combo(const view_context& with, const char* id, side_choice& choice);
  void draw_choices_of(const view_context& with, const document& of, side_choice& choice);
  static void draw_process_choices(const document& of, side_choice& choice);
  /// How to match the devices of the two sides. Two ranges of one recording have the same devices.
  [[nodiscard]] static metrics::device_match devices_of(const side& before, const side& after);
  void draw_step_choice(const view_context& with, const document& of, side_choice& choice);
  /// The steps of the document; null until known.
  [[nodiscard]] const std::vector<index::step>* steps_of(const document& of);
  void follow_steps(const view_context& with);
  [[nodiscard]] std::string device_words(const document& of, trace::device_id device) const;
  void draw_missing(const view_context& with, bool before, bool after) const;
  [[nodiscard]] bool ask(const view_context& with, const side& before, const side& after);
  void choose_memory();
  void draw_result(view_context& with, const side& before, const side& after);
  void draw_curves(view_context& with, const side& before, const side& after, ImVec2 size);
  void draw_memory_combo(const view_context& with);
  void draw_metrics(const view_context& with);
  void draw_grown(const view_context& with, const side& before, const side& after);
  void draw_grown_rows(const view_context& with, const std::vector<metrics::grown_group>& groups, const side& before,
                       const side& after);
  void go_to(const metrics::grown_group& group, const side& before, const side& after);

  side_choice before_, after_;
  std::optional<kept_range> kept_;
  document_id opening_from_ = document_id::none;  ///< When the next document is opened, it is compared with this one;
                                                  ///< none: no comparison is planned.
  bool stop_opening_ = false;
  std::array<screen_slot<query::compared_side_query>, 2> side_queries_;
  screen_slot<query::comparison_query> query_;
  screen_slot<query::report_query> ranks_query_;
  screen_slot<query::compared_side_query> steps_query_;
  document_id steps_wanted_ = document_id::none;  ///< Once the steps of this document are known, two of them are
                                                  ///< compared.
  std::int64_t typed_step_ = 0;                   ///< The step number typed in the list of sides.
  screen_slot<query::blocks_query> jump_query_;
  std::array<std::shared_ptr<const metrics::compared_side>, 2> sides_;
  std::shared_ptr<const metrics::comparison> shown_;
  std::string failure_;
  bool waiting_ = false;  ///< In the last frame, a result was incomplete.
  float progress_ = 0;
  std::string memory_label_;  ///< The label of the chosen memory; empty: the innermost layer that has a large part of
                              ///< the highest peak.
  std::size_t memory_ = 0;    ///< Index of the chosen memory in `shown_->memory`.
  grouping by_ = grouping::line;
  bool by_chosen_ = false;
  std::string tab_;  ///< The tab to bring to the front in the next frame; empty: no change.
  alignment align_ = alignment::time;
  bool libraries_ = false;
  aligned_curves curves_;
  difference_flames flames_;
  std::optional<jump> jump_;
  row_menu rows_;
};

}  // namespace sluice::gui
