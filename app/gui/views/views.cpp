#include "app/gui/views/views.hpp"

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/memory_map/memory_map.hpp"
#include "app/gui/views/note_lists.hpp"
#include "app/gui/views/query.hpp"
#include "app/gui/views/search.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "app/gui/views/what_if_replay.hpp"

namespace sluice::gui {

std::vector<std::unique_ptr<view>> make_views(const std::function<void()>& wake, const settings& remembered) {
  std::vector<std::unique_ptr<view>> all;
  const auto replay = std::make_shared<what_if_replay>();
  const auto notes = std::make_shared<note_lists>();
  const auto hits = std::make_shared<search_hits>();
  all.push_back(std::make_unique<timeline_view>(wake, notes, hits));
  all.push_back(make_summary_view());
  all.push_back(make_out_of_memory_view());
  all.push_back(make_details_view());
  all.push_back(make_statistics_view());
  all.push_back(std::make_unique<blocks_view>());
  all.push_back(make_memory_over_time_view(replay));
  all.push_back(std::make_unique<memory_map_view>());
  all.push_back(make_stacks_view());
  all.push_back(make_transfers_view());
  all.push_back(make_idle_gaps_view());
  all.push_back(make_ranks_view());
  all.push_back(make_what_if_view(replay));
  all.push_back(make_compare_view());
  all.push_back(make_generations_view());
  all.push_back(make_notes_view(notes));
  all.push_back(std::make_unique<search_view>(hits));
  all.push_back(std::make_unique<query_view>(wake, remembered));
  all.push_back(make_messages_view());
  return all;
}

}  // namespace sluice::gui
