#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// All views of the window, in the order of its menus and tabs. `wake` may be called from any thread; `remembered` outlives them.
[[nodiscard]] std::vector<std::unique_ptr<view>> make_views(const std::function<void()>& wake,
                                                            const settings& remembered);

// Those that have no header of their own.
[[nodiscard]] std::unique_ptr<view> make_details_view();
[[nodiscard]] std::unique_ptr<view> make_blocks_view();
[[nodiscard]] std::unique_ptr<view> make_statistics_view();
[[nodiscard]] std::unique_ptr<view> make_summary_view();
[[nodiscard]] std::unique_ptr<view> make_stacks_view();
[[nodiscard]] std::unique_ptr<view> make_messages_view();

}  // namespace sluice::gui
