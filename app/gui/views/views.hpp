#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Creates all views, in the order in which menus and tabs show them. `wake` must be callable from any thread;
/// `remembered` must outlive the views.
[[nodiscard]] std::vector<std::unique_ptr<view>> make_views(const std::function<void()>& wake,
                                                            const settings& remembered);

struct note_lists;
class what_if_replay;

// Creates the views that have no header of their own.
[[nodiscard]] std::unique_ptr<view> make_details_view();
[[nodiscard]] std::unique_ptr<view> make_statistics_view();
[[nodiscard]] std::unique_ptr<view> make_summary_view();
[[nodiscard]] std::unique_ptr<view> make_stacks_view();
[[nodiscard]] std::unique_ptr<view> make_out_of_memory_view();
[[nodiscard]] std::unique_ptr<view> make_messages_view();
[[nodiscard]] std::unique_ptr<view> make_what_if_view(std::shared_ptr<what_if_replay> replay);
[[nodiscard]] std::unique_ptr<view> make_transfers_view();
[[nodiscard]] std::unique_ptr<view> make_idle_gaps_view();
[[nodiscard]] std::unique_ptr<view> make_host_stacks_view();
[[nodiscard]] std::unique_ptr<view> make_ranks_view();
[[nodiscard]] std::unique_ptr<view> make_memory_over_time_view(std::shared_ptr<what_if_replay> replay);
[[nodiscard]] std::unique_ptr<view> make_compare_view();
[[nodiscard]] std::unique_ptr<view> make_generations_view();
[[nodiscard]] std::unique_ptr<view> make_notes_view(std::shared_ptr<note_lists> notes);

}  // namespace sluice::gui
