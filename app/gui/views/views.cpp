#include "app/gui/views/views.hpp"

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/memory_map/memory_map.hpp"
#include "app/gui/views/parts/note_lists.hpp"
#include "app/gui/views/query.hpp"
#include "app/gui/views/search.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "app/gui/views/what_if_replay.hpp"

namespace sluice::gui {

std::vector<std::unique_ptr<view>> make_views(const std::function<void()>& wake, const settings& remembered) {
  std::vector<std::unique_ptr<view>> items;
  const auto replay = std::make_shared<what_if_replay>();
  const auto notes = std::make_shared<note_lists>();
  const auto hits = std::make_shared<search_hits>();
  items.push_back(std::make_unique<timeline_view>(wake, notes, hits));
  items.push_back(make_summary_view());
  items.push_back(make_out_of_memory_view());
  items.push_back(make_details_view());
  items.push_back(make_statistics_view());
  items.push_back(std::make_unique<blocks_view>());
  items.push_back(make_memory_over_time_view(replay));
  items.push_back(std::make_unique<memory_map_view>());
  items.push_back(make_stacks_view());
  items.push_back(make_transfers_view());
  items.push_back(make_idle_gaps_view());
  items.push_back(make_host_stacks_view());
  items.push_back(make_ranks_view());
  items.push_back(make_what_if_view(replay));
  items.push_back(make_compare_view());
  items.push_back(make_generations_view());
  items.push_back(make_notes_view(notes));
  items.push_back(std::make_unique<search_view>(hits));
  items.push_back(std::make_unique<query_view>(wake, remembered));
  items.push_back(make_messages_view());
  return items;
}

}  // namespace sluice::gui
