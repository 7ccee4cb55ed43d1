#include "core/index/memory/memory_use.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::index {
namespace {

/// The maximum size of a block in bytes, more than any machine has. With this limit, sums stay exact in a double.
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 52;

double to_real(std::uint64_t bytes) { return static_cast<double>(std::min(bytes, max_bytes)); }

/// Returns how many bytes of the device a driver's pool holds, whether used or not. This is the value of the last
/// sample, but at least the bytes of the pool's blocks.
double held_by(const pool_use& pool, time_ns time) {
  const double used = pool.blocks.at(time);
  return pool.reserved.empty() ? used : std::max(used, pool.reserved.at(time));
}

}  // namespace

bool is_driver_pool(const trace::pool_row& row, bool has_segments) {
  return row.layer == trace::layer::driver && is_device_resident(row.kind) && !has_segments;
}

block_record& memory_use::at(trace::block_id id) {
  const auto [place, fresh] = by_id_.put(raw(id), blocks_.size());
  if (fresh) blocks_.emplace_back().id = id;
  return blocks_[place];
}

const block_record* memory_use::find(trace::block_id id) const {
  const std::size_t place = by_id_.find(raw(id));
  return place == id_lookup::none || !blocks_[place].allocated ? nullptr : &blocks_[place];
}

void memory_use::count(const block_record& block, time_ns time, double sign) {
  if (block.imported()) return;
  const timeline::delta_step step{time, sign * to_real(block.bytes)};
  last_use_.in(use_, {block.device, block.layer, block.kind}).add(step);
  changed_from_ = std::min(changed_from_, time);
  if (block.pool == trace::pool_id::none) return;
  pool_use& pool = last_pool_.in(pools_, block.pool);
  if (block.layer == trace::layer::driver) {
    // The pool's reserved bytes must not be added to the driver's blocks, not even at earlier times. So recompute from
    // the start.
    if (!pool.has_segments) changed_from_ = -latest_time;
    pool.has_segments = true;
  } else {
    pool.blocks.add(step);
  }
}

void memory_use::put(const block_record& known, block_record& at) {
  const time_ns before = at.died;
  at = known;
  at.died = before;
  if (known.freed()) dies(at, known.died);
}

void memory_use::set_known(const block_record& known) {
  block_record& block = at(known.id);
  if (block.allocated) return;
  put(known, block);
  block.allocated = true;
  count(block, block.born, 1);
  if (block.freed()) count(block, block.died, -1);
}

void memory_use::continue_from(const block_record& known) {
  block_record& block = at(known.id);
  put(known, block);
  if (block.allocated) count(block, block.born, 1);
}

void memory_use::set_known(trace::pool_id id, bool has_segments, std::optional<double> highest) {
  pool_use& pool = pools_[id];
  pool.has_segments = has_segments;
  if (highest) pool.blocks.set_highest(*highest);
}

void memory_use::set_known(trace::pool_id id, std::uint64_t reserved, std::uint64_t used, time_ns time,
                           trace::event_id event) {
  pool_use& pool = pools_[id];
  pool.reserved.add({time, to_real(reserved), raw(event)});
  pool.used.add({time, to_real(used), raw(event)});
}

void memory_use::set_known(trace::device_id device, const device_samples::sample& sample) {
  devices_[device].samples.push_back(
      {sample.time, sample.order, std::min(sample.free, sample.total), sample.total, sample.recorder});
  changed_from_ = std::min(changed_from_, sample.time);
}

void memory_use::set_known_untracked(trace::device_id device, const timeline::sample_step& sample) {
  untracked_known_ = true;
  devices_[device].untracked.add(sample);
}

void memory_use::birth(const trace::alloc_event& row, time_ns born) {
  if (row.block == trace::block_id::none) {
    ++malformed_;
    return;
  }
  block_record& block = at(row.block);
  block.alloc = row.id;
  block.parent = row.parent;
  block.process = row.process;
  block.thread = row.thread;
  block.device = is_host_resident(row.kind) ? trace::device_id::none : row.device;
  block.stream = row.stream;
  block.pool = row.pool;
  block.stack = row.stack;
  block.name = row.name;
  block.born = bounded(born);
  block.address = row.address;
  if (row.bytes > max_bytes || row.reserved_bytes > max_bytes) ++malformed_;
  block.bytes = std::min(row.bytes, max_bytes);
  block.reserved_bytes = std::min(std::max(row.reserved_bytes, row.bytes), max_bytes);
  block.flags = row.flags;
  block.layer = row.layer;
  block.kind = row.kind;
  block.allocated = true;
  if (block.freed() && block.died < block.born) {
    dispute(block.id);
    block.died = block.born;
  }
  count(block, block.born, 1);
  if (block.freed()) count(block, block.died, -1);
}

void memory_use::add(const trace::alloc_event& row) {
  const std::size_t known = by_id_.find(raw(row.block));
  if (known != id_lookup::none && blocks_[known].allocated) {
    block_record& block = blocks_[known];
    // A checkpoint may list a block before the chunk with the block's allocation has arrived.
    if (block.alloc == trace::event_id::none) {
      block.alloc = row.id;
      if (block.born != bounded(row.time)) disputed_.push_back(block.id);
    } else if (block.alloc != row.id) {
      dispute(block.id);
    }
    return;
  }
  birth(row, row.time);
}

void memory_use::add(const trace::live_block_event& row) {
  checkpoints_[row.checkpoint].blocks.push_back(row.block);
  if (const block_record* known = find(row.block); known != nullptr) {
    if (known->born != bounded(row.born)) disputed_.push_back(known->id);
    return;
  }
  birth(row, row.born);
  if (row.block == trace::block_id::none) return;
  at(row.block).alloc = row.alloc;  // The block's allocation row may arrive later.
  if (bounded(row.time) < bounded(row.born)) disputed_.push_back(row.block);
}

void memory_use::add(const trace::free_event& row) {
  if (row.block == trace::block_id::none) {
    ++malformed_;
    return;
  }
  block_record& block = at(row.block);
  if (block.freed() && !block.death_inferred) {
    if (block.free != row.id) dispute(block.id);
    return;
  }
  if (block.death_inferred) {
    block.death_inferred = false;
    count(block, block.died, 1);
  }
  block.free = row.id;
  dies(block, bounded(row.time));
  if (!block.allocated) return;
  if (block.died < block.born) {
    dispute(block.id);
    block.died = block.born;
  }
  count(block, block.died, -1);
}

void memory_use::add(const trace::pool_event& row) {
  const time_ns time = bounded(row.time);
  set_known(row.pool, row.reserved, row.used, time, row.id);
  pools_[row.pool].times.push_back(time);
  changed_from_ = std::min(changed_from_, time);
}

void memory_use::add(const trace::device_memory_event& row) {
  set_known(row.device, {bounded(row.time), raw(row.id), row.free, row.total, row.recorder});
}

void memory_use::add(const trace::checkpoint_event& row) {
  checkpoint& known = checkpoints_[row.id];
  known.about = row;
  known.seen = true;
}

void note(const trace::loss_event& row, first_losses& in) {
  if (row.memory_events == 0) return;
  const auto [known, fresh] = in.try_emplace(row.process, bounded(row.time));
  if (!fresh) known->second = std::min(known->second, bounded(row.time));
}

bool shows_lost_frees(const trace::checkpoint_event& about, std::size_t listed, const first_losses& losses) {
  const auto lost = losses.find(about.process);
  return about.exact && listed == about.blocks && lost != losses.end() && lost->second <= bounded(about.time);
}

void memory_use::infer_deaths(const complete_checkpoint& by, const id_set* freed) {
  for (block_record& block : blocks_) {
    const bool had_it = block.allocated && !block.freed() && block.process == by.process && block.born < by.time;
    if (!had_it || std::binary_search(by.live.begin(), by.live.end(), block.id)) continue;
    if (freed != nullptr && freed->contains(raw(block.id))) continue;
    dies(block, by.time);
    block.death_inferred = true;
    count(block, by.time, -1);
  }
}

void memory_use::reconcile() {
  first_losses losses;
  for (const trace::loss_event& row : losses_) note(row, losses);
  std::vector<checkpoint*> usable;
  for (auto& [id, known] : checkpoints_)
    if (known.seen && shows_lost_frees(known.about, known.blocks.size(), losses)) usable.push_back(&known);
  // A block that two checkpoints do not list was freed by the time of the earlier checkpoint.
  std::sort(usable.begin(), usable.end(), [](const checkpoint* a, const checkpoint* b) {
    return std::tuple(a->about.time, a->about.id) < std::tuple(b->about.time, b->about.id);
  });
  for (checkpoint* known : usable) {
    std::sort(known->blocks.begin(), known->blocks.end());
    infer_deaths({known->about.process, bounded(known->about.time), known->blocks});
  }
  std::erase_if(checkpoints_, [](const auto& entry) {
    return entry.second.seen && entry.second.blocks.size() >= entry.second.about.blocks;
  });
}

void memory_use::settle(const trace::tables& tables) {
  for (auto& [key, tree] : use_) tree.settle();
  for (auto& [id, pool] : pools_) {
    pool.reserved.settle();
    pool.used.settle();
    pool.blocks.settle();
  }
  if (changed_from_ == latest_time + 1) return;
  auto tracked_by = tracked_by_device(tables);
  for (auto& [device, samples] : devices_) settle_untracked(samples, tracked_by[device]);
  changed_from_ = latest_time + 1;
}

std::map<trace::device_id, memory_use::tracked> memory_use::tracked_by_device(const trace::tables& tables) const {
  std::map<trace::device_id, tracked> table;
  for (const auto& [key, tree] : use_) {
    if (key.layer == trace::layer::driver && is_device_resident(key.kind)) table[key.device].blocks.push_back(&tree);
  }
  for (const auto& [id, pool] : pools_) {
    const trace::pool_row* row = tables.pools.find(id);
    if (row != nullptr && is_driver_pool(*row, pool.has_segments)) table[row->device].pools.push_back(&pool);
  }
  return table;
}

double memory_use::tracked::at(time_ns time) const {
  double sum = 0;
  for (const auto* tree : blocks) sum += tree->at(time);
  for (const pool_use* pool : pools) sum += held_by(*pool, time);
  return sum;
}

void memory_use::settle_untracked(device_samples& samples, const tracked& by) const {
  const auto earlier = [](const auto& a, const auto& b) {
    return std::tuple(a.time, a.order) < std::tuple(b.time, b.order);
  };
  if (!std::is_sorted(samples.samples.begin(), samples.samples.end(), earlier)) {
    std::sort(samples.samples.begin(), samples.samples.end(), earlier);
  }
  // Events may arrive late, so the tracked bytes at an earlier sample may have changed since the last call.
  const auto first = std::partition_point(samples.samples.begin(), samples.samples.end(),
                                          [&](const auto& s) { return s.time < changed_from_; });
  for (auto at = first; at != samples.samples.end(); ++at) {
    const double used = to_real(at->total - at->free);
    const double recorder = std::min(to_real(at->recorder), used);
    samples.used.add({at->time, used, at->order});
    samples.recorder.add({at->time, recorder, at->order});
    if (!untracked_known_)
      samples.untracked.add({at->time, std::max(0.0, used - by.at(at->time) - recorder), at->order});
  }
  samples.used.settle();
  samples.recorder.settle();
  samples.untracked.settle();
}

}  // namespace sluice::index
