#pragma once

#include <memory>

#include "app/gui/views/view.hpp"

/// The panels beside the timeline.
namespace sluice::gui {

[[nodiscard]] std::unique_ptr<view> make_details_view();
[[nodiscard]] std::unique_ptr<view> make_blocks_view();
[[nodiscard]] std::unique_ptr<view> make_statistics_view();
[[nodiscard]] std::unique_ptr<view> make_summary_view();
[[nodiscard]] std::unique_ptr<view> make_stacks_view();
[[nodiscard]] std::unique_ptr<view> make_messages_view();

}  // namespace sluice::gui
