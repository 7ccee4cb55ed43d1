#include "instrumentation/writer/record_decoder/checkpoints.hpp"

namespace sluice::writer {

using namespace trace;

void checkpoints::write(time_ns time) {
  checkpoint_event checkpoint;
  checkpoint.time = time;
  for (const auto& process : processes_) {
    checkpoint.blocks += process->blocks.live_blocks();
    checkpoint.exact = checkpoint.exact && !process->doubts.any();
  }
  checkpoint.id = file_.next_event();
  file_.add(checkpoint);
  for (const auto& process : processes_) {
    process->blocks.for_each_live([&](const alloc_event& block) {
      live_block_event row;
      static_cast<alloc_event&>(row) = block;
      row.id = event_id::none;
      row.checkpoint = checkpoint.id;
      row.born = block.time;
      row.time = time;
      file_.add(row);
    });
  }
  requested_ = INT64_MIN;
  last_ = file_.events();
  worthwhile_ = last_ + 8 * checkpoint.blocks;
}

}  // namespace sluice::writer
