#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/analysis/labels.hpp"
#include "core/analysis/tensors.hpp"
#include "core/format.hpp"
#include "core/query/answering.hpp"

namespace sluice::query {
namespace {

using trace::layer;
using trace::memory_kind;

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

/// Gathers the bands of one answer.
class composer {
 public:
  composer(const series_question& question, const sources& from)
      : from_(from),
        range_(analysis::bounded(question.range)),
        width_(std::clamp<std::uint32_t>(question.width, 1, widest_view)),
        whole_(analysis::whole_of(from.trace)) {
    made_.range = question.range;
  }

  template <class Step>
  band& add(std::string label, band_role role, const summaries::time_tree<Step>& tree) {
    band curve;
    curve.label = std::move(label);
    curve.role = role;
    curve.bins.resize(width_);
    tree.split(range_.begin, range_.end, width_, [&](std::uint32_t i, const summaries::extent& part, double at_begin) {
      bin& into = curve.bins[i];
      if (part.empty()) {
        into = {at_begin, at_begin, at_begin};
        return;
      }
      into = {part.minimum, part.maximum, part.integral / static_cast<double>(part.length)};
    });
    const summaries::extent all = tree.over(whole_.begin, whole_.end);
    highest_ = all.empty() ? 0 : all.maximum;
    made_.bands.push_back(std::move(curve));
    return made_.bands.back();
  }

  /// As `add`; the band stands on the stacked ones before it.
  template <class Step>
  band& stack(std::string label, band_role role, const summaries::time_tree<Step>& tree) {
    band& made = add(std::move(label), role, tree);
    made.stacked = true;
    stacked_ += highest_;
    return made;
  }
  template <class Step>
  band& line(std::string label, band_role role, const summaries::time_tree<Step>& tree) {
    band& made = add(std::move(label), role, tree);
    made_.maximum = std::max(made_.maximum, highest_);
    return made;
  }

  /// The axis holds `tree`, whose parts were added.
  void reaches(const summaries::level_tree& tree) {
    const summaries::extent over = tree.over(whole_.begin, whole_.end);
    if (!over.empty()) made_.maximum = std::max(made_.maximum, over.maximum);
  }

  void limit(std::string label, double value, trace::direction way = trace::direction::unknown) {
    made_.limits.push_back({std::move(label), value, way});
  }

  /// `ceiling` bounds the stacked bands' sum where it is known.
  series finish(double ceiling = 0) {
    if (ceiling > 0) stacked_ = std::min(stacked_, ceiling);
    made_.maximum = std::max(made_.maximum, stacked_);
    return std::move(made_);
  }

 private:
  const sources& from_;
  time_range range_;
  std::uint32_t width_;
  time_range whole_;
  series made_;
  double highest_ = 0;
  double stacked_ = 0;
};

/// Addresses without bytes of their own are no memory use.
bool has_bytes(memory_kind kind) { return kind != memory_kind::reservation && kind != memory_kind::mapping; }

bool stacks(const analysis::memory_key& key) {
  return key.level == layer::driver && (key.device == trace::device_id::none ? analysis::is_host_resident(key.kind)
                                                                             : analysis::is_device_resident(key.kind));
}

std::string memory_label(const analysis::memory_key& key) {
  if (key.level == layer::driver) {
    return key.kind == memory_kind::managed ? "Managed (either side)" : capital(std::string(name_of(key.kind)));
  }
  return fmt::format("{}: {}", capital(std::string(name_of(key.level))), name_of(key.kind));
}

void put_kind(band& into, const analysis::memory_key& key) {
  into.level = key.level;
  into.kind = key.kind;
}

/// What lasts longest at the bottom, so that the bands above it move least.
constexpr std::array category_order = {analysis::category::weight,   analysis::category::optimizer_state,
                                       analysis::category::gradient, analysis::category::activation,
                                       analysis::category::input,    analysis::category::workspace,
                                       analysis::category::none};

void put_categories(composer& all, const analysis::memory_key& key, const analysis::category_use& use) {
  for (const analysis::category what : category_order) {
    const summaries::level_tree& tree = use[static_cast<std::size_t>(what)];
    if (tree.empty()) continue;
    band& made = all.add(capital(std::string(analysis::category_name(what))), band_role::used, tree);
    put_kind(made, key);
    made.category = what;
    made.by_category = true;
  }
}

series memory_series(const series_question& question, const track& row, const sources& from) {
  const analysis::memory_use& memory = from.index.memory();
  composer all(question, from);
  const auto facts = question.by_category ? from.index.tensors(from.trace) : nullptr;
  for (const auto& [key, tree] : memory.use()) {
    if (key.device == row.device && stacks(key)) put_kind(all.stack(memory_label(key), band_role::used, tree), key);
  }
  for (const auto& [id, pool] : memory.pools()) {
    const trace::pool_row* about = from.trace.tables().pools.find(id);
    if (about == nullptr || about->device != row.device || row.device == trace::device_id::none ||
        !analysis::is_driver_pool(*about, pool)) {
      continue;
    }
    if (pool.reserved.empty()) {
      put_kind(all.stack(analysis::pool_label(id, from.trace.tables()), band_role::used, pool.blocks),
               {row.device, layer::driver, about->kind});
      continue;
    }
    put_kind(
        all.stack(analysis::pool_label(id, from.trace.tables()) + " (reserved)", band_role::reserved, pool.reserved),
        {row.device, layer::driver, about->kind});
  }
  double ceiling = 0;
  if (const auto samples = memory.devices().find(row.device); samples != memory.devices().end()) {
    const bool managed = memory.use().contains({row.device, layer::driver, memory_kind::managed});
    all.stack(managed ? "Not tracked: context, modules, libraries, managed pages here, other processes"
                      : "Not tracked: context, modules, libraries, other processes",
              band_role::untracked, samples->second.untracked);
    const summaries::extent own = samples->second.recorder.over(-analysis::latest_time, analysis::latest_time);
    if (!own.empty() && own.maximum > 0)
      all.stack("The recorder's own (estimated)", band_role::recorder, samples->second.recorder);
    all.line("All in use on the device (sampled)", band_role::total, samples->second.used);
  }
  for (const auto& [key, tree] : memory.use()) {
    if (key.device != row.device || stacks(key) || !has_bytes(key.kind)) continue;
    const auto by_category = facts == nullptr ? decltype(facts->use.begin()){} : facts->use.find(key);
    if (facts != nullptr && by_category != facts->use.end()) {
      put_categories(all, key, by_category->second);
      all.reaches(tree);
    } else {
      put_kind(all.line(memory_label(key), band_role::used, tree), key);
    }
  }
  if (const trace::device_row* device = from.trace.tables().devices.find(row.device);
      device != nullptr && device->memory_bytes > 0) {
    ceiling = static_cast<double>(device->memory_bytes);
    all.limit("Device memory " + format_bytes(device->memory_bytes), ceiling);
  }
  return all.finish(ceiling);
}

series pool_series(const series_question& question, const track& row, const sources& from) {
  composer all(question, from);
  const auto found = from.index.memory().pools().find(row.pool);
  if (found == from.index.memory().pools().end()) return all.finish();
  const analysis::pool_use& pool = found->second;
  if (!pool.reserved.empty()) all.line("Reserved", band_role::reserved, pool.reserved);
  if (pool.blocks.empty()) {
    all.line("Used", band_role::used, pool.used);
  } else {
    all.line("Used", band_role::used, pool.blocks);
  }
  return all.finish();
}

void put_link_limits(composer& all, const trace::device_row& device) {
  if (device.link_peak > 0) {
    const std::string link = device.link_generation > 0
                                 ? fmt::format("PCIe {} x{} peak", device.link_generation, device.link_width)
                                 : std::string("Link peak");
    all.limit(link + " " + format_rate(static_cast<double>(device.link_peak)), static_cast<double>(device.link_peak));
  }
  const auto attainable = [&](trace::direction way, std::uint64_t rate) {
    if (rate == 0) return;
    all.limit(fmt::format("Attainable {} {}", name_of(way), format_rate(static_cast<double>(rate))),
              static_cast<double>(rate), way);
  };
  attainable(trace::direction::h2d, device.attainable_h2d);
  attainable(trace::direction::d2h, device.attainable_d2h);
}

series bandwidth_series(const series_question& question, const track& row, const sources& from) {
  composer all(question, from);
  for (const auto& [key, work] : from.index.devices().directions()) {
    if (key.device != row.device || axis_of(key.direction) != axis_of(row.direction)) continue;
    all.line(capital(std::string(name_of(key.direction))), band_role::value, work.rate).direction = key.direction;
  }
  const trace::device_row* device = from.trace.tables().devices.find(row.device);
  if (device != nullptr && row.direction == trace::direction::p2p) {
    if (device->peer_peak > 0) {
      const auto peak = static_cast<double>(device->peer_peak);
      all.limit("NVLink peak " + format_rate(peak), peak);
    }
  } else if (device != nullptr && row.direction != trace::direction::d2d) {
    put_link_limits(all, *device);
  }
  return all.finish();
}

series counter_series(const series_question& question, const track& row, const sources& from) {
  composer all(question, from);
  const auto found = from.index.counters().find(row.counter);
  if (found != from.index.counters().end()) all.line("Value", band_role::value, found->second);
  return all.finish();
}

}  // namespace

result<series> answer_to(const series_question& question, const sources& from) {
  const auto row = find_track(question.track, from);
  if (!row) return tl::unexpected<error>(row.error());
  switch (row->kind) {
    case track_kind::memory:
      return memory_series(question, *row, from);
    case track_kind::pool:
      return pool_series(question, *row, from);
    case track_kind::bandwidth:
      return bandwidth_series(question, *row, from);
    case track_kind::counter:
      return counter_series(question, *row, from);
    case track_kind::direction:
    case track_kind::stream:
    case track_kind::host_thread:
    case track_kind::steps:
      break;
  }
  return fail(error_code::invalid_argument, "this track has slices, no curves", from.trace.path());
}

}  // namespace sluice::query
