#include "core/index/curves.hpp"

#include <tuple>

#include "core/index/tensor_facts.hpp"

namespace sluice::index {
namespace {

using trace::curve_kind;
using trace::curve_row;
using trace::lane_kind;
using trace::lane_row;

class lister {
 public:
  explicit lister(time_range whole) : whole_(whole) {}

  void add(curve_row about, const timeline::level_tree& tree) { add(about, tree, {about, &tree, nullptr}); }
  void add(curve_row about, const timeline::sample_tree& tree) { add(about, tree, {about, nullptr, &tree}); }
  std::vector<index_curve> take() { return std::move(all_); }

 private:
  template <class Tree>
  void add(const curve_row&, const Tree& tree, index_curve curve) {
    // Copies without bytes have no rate, but are still listed.
    if (tree.empty() && curve.about.type != curve_kind::rate) return;
    curve.about.curve = static_cast<std::uint32_t>(all_.size());
    curve.about.maximum = tree.highest(whole_.begin, whole_.end);
    all_.push_back(curve);
  }

  time_range whole_;
  std::vector<index_curve> all_;
};

curve_row of_kind(curve_kind kind) {
  curve_row row;
  row.type = kind;
  return row;
}

void list_memory(const memory_use& memory, const tensor_facts* facts, lister& into) {
  for (const auto& [key, tree] : memory.use()) {
    curve_row about = of_kind(curve_kind::memory);
    about.device = key.device;
    about.layer = key.layer;
    about.kind = key.kind;
    into.add(about, tree);
    if (facts == nullptr) continue;
    const auto parts = facts->use.find(key);
    if (parts == facts->use.end()) continue;
    about.type = curve_kind::category;
    for (std::size_t i = 0; i < category_count; ++i) {
      about.category = static_cast<std::uint8_t>(i);
      into.add(about, parts->second[i]);
    }
  }
  for (const auto& [id, pool] : memory.pools()) {
    curve_row about = of_kind(curve_kind::pool_reserved);
    about.pool = id;
    about.has_segments = pool.has_segments;
    into.add(about, pool.reserved);
    about.type = curve_kind::pool_used;
    into.add(about, pool.used);
    about.type = curve_kind::pool_blocks;
    into.add(about, pool.blocks);
  }
  for (const auto& [id, samples] : memory.devices()) {
    curve_row about = of_kind(curve_kind::device_used);
    about.device = id;
    into.add(about, samples.used);
    about.type = curve_kind::device_recorder;
    into.add(about, samples.recorder);
    about.type = curve_kind::device_untracked;
    into.add(about, samples.untracked);
  }
}

}  // namespace

std::vector<index_curve> make_curves(const event_store& store, const tensor_facts* facts, time_range whole) {
  lister into(whole);
  list_memory(store.memory(), facts, into);
  for (const auto& [key, work] : store.devices().directions()) {
    curve_row about = of_kind(curve_kind::rate);
    about.device = key.device;
    about.way = key.direction;
    into.add(about, work.rate);
  }
  for (const auto& [id, tree] : store.counters()) {
    curve_row about = of_kind(curve_kind::counter);
    about.counter = id;
    into.add(about, tree);
  }
  return into.take();
}

bool is_in_driver_stack(const curve_row& curve) {
  return curve.layer == trace::layer::driver &&
         (curve.device == trace::device_id::none ? is_host_resident(curve.kind) : is_device_resident(curve.kind));
}

std::vector<index_slices> get_slices(const event_store& store, const tensor_facts* facts) {
  std::vector<index_slices> items;
  const auto add = [&](const lane_row& about, const timeline::slice_set& slices) {
    if (slices.lanes() > 0) items.push_back({about, &slices});
  };
  for (const auto& [key, work] : store.devices().directions()) {
    lane_row about;
    about.type = lane_kind::direction;
    about.device = key.device;
    about.way = key.direction;
    add(about, work.slices);
  }
  for (const auto& [key, slices] : store.devices().streams()) {
    lane_row about;
    about.type = lane_kind::stream;
    about.process = key.process;
    about.device = key.device;
    about.stream = key.stream;
    add(about, slices);
  }
  for (const auto& [key, work] : store.host().threads()) {
    lane_row about;
    about.type = lane_kind::host_ranges;
    about.process = key.process;
    about.thread = key.thread;
    add(about, work.ranges);
    about.type = lane_kind::host_calls;
    add(about, work.calls);
  }
  if (facts == nullptr) return items;
  for (const auto& [process, slices] : facts->drawn_steps) {
    lane_row about;
    about.type = lane_kind::steps;
    about.process = process;
    items.push_back({about, &slices});
  }
  return items;
}

}  // namespace sluice::index
