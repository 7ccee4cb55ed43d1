#include "core/index/memory/touches.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "core/base/lower_case.hpp"
#include "core/base/sort_runs.hpp"

namespace sluice::index {
namespace {

bool earlier(const touch& a, const touch& b) { return std::tuple(a.time, a.event) < std::tuple(b.time, b.event); }

void join(touch& first, touch& last, const touch& now) {
  if (!first.known() || earlier(now, first)) first = now;
  if (!last.known() || earlier(last, now)) last = now;
}

void keep_earlier(time_ns& first, time_ns time) {
  if (first == trace::unknown_time || time < first) first = time;
}

time_ns enqueued_or(time_ns enqueued, time_ns begin) {
  return bounded(enqueued == trace::unknown_time ? begin : enqueued);
}

/// Returns how many elements of `times`, which is sorted, are in `range`.
std::uint64_t count_in(const std::vector<time_ns>& times, time_range range) {
  const auto first = std::lower_bound(times.begin(), times.end(), range.begin);
  return static_cast<std::uint64_t>(std::lower_bound(first, times.end(), range.end) - first);
}

}  // namespace

bool is_copying_call(std::string_view name) {
  return name.starts_with("cuMemcpy") || name.starts_with("cuMemset") || name.starts_with("cudaMemcpy") ||
         name.starts_with("cudaMemset");
}

bool is_filling_kernel(std::string_view name) {
  for (const std::string_view part : {"FillFunctor", "ZeroFunctor", "cupy_fill", "cupy_copy__scalar"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

bool is_product_kernel(std::string_view name) {
  const std::string lower = lower_case(name);
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  // Attention kernels read their blocks as data. Triton names a kernel after all operators that are fused in it.
  for (const std::string_view other : {"fmha", "flash", "attention", "triton_poi", "triton_red", "triton_per"})
    if (has(other)) return false;
  for (const std::string_view part :
       {"gemm",  "gemv",   "cutlass",  "cublas", "nvjet",      "xmma",      "splitk", "cijk_",
        "cudnn", "miopen", "convol",   "conv_",  "conv1d",     "conv2d",    "conv3d", "wgrad",
        "dgrad", "fprop",  "winograd", "fft",    "nchwtonhwc", "nhwctonchw"})
    if (has(part)) return true;
  return false;
}

void sort_by_graph(std::vector<block_graph_use>& uses) {
  std::stable_sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.use.graph < b.use.graph; });
}

void uses_so_far::add(const uses_so_far& others) {
  if (others.first.known()) {
    join(first, last, others.first);
    join(first, last, others.last);
  }
  kernels += others.kernels;
  copy_calls += others.copy_calls;
  copies += others.copies;
  replays += others.replays;
  products += others.products;
  as_data = as_data || others.as_data;
  if (others.first_kernel != trace::unknown_time) keep_earlier(first_kernel, others.first_kernel);
  if (others.from_host.count == 0) return;
  from_host.first = from_host.count == 0 ? others.from_host.first : std::min(from_host.first, others.from_host.first);
  from_host.last = from_host.count == 0 ? others.from_host.last : std::max(from_host.last, others.from_host.last);
  from_host.count += others.from_host.count;
  from_host.pageable += others.from_host.pageable;
}

block_touches uses_so_far::all() const {
  return {first, last, kernels, std::max(copies, copy_calls), replays, products, as_data, first_kernel, from_host};
}

touch_index::uses_of_block& touch_index::at(trace::block_id id) {
  const auto [place, fresh] = by_id_.put(raw(id), blocks_.size());
  if (fresh) blocks_.emplace_back().block = id;
  return blocks_[place];
}

const touch_index::named_work& touch_index::find_work(trace::string_id name, const trace::tables& tables) {
  if (name == last_name_) return last_named_;
  const auto [place, fresh] = named_.try_emplace(raw(name));
  if (fresh) {
    const std::string_view text = tables.text(name);
    const bool copies = is_copying_call(text);
    const bool fills = copies ? text.find("emset") != std::string_view::npos : is_filling_kernel(text);
    place->second = {copies, fills, !copies && !fills && is_product_kernel(text)};
  }
  last_name_ = name;
  return last_named_ = place->second;
}

void touch_index::add(const trace::touch_event& row, const trace::tables& tables) {
  if (row.block == trace::block_id::none) return;
  if (whole_known_ && row.graph != trace::graph_id::none) return;
  if (!whole_known_) ++touches_;
  if (row.graph == trace::graph_id::none) {
    if (leaves_out(bounded(row.time))) return;
    uses_of_block& block = at(row.block);
    uses_so_far& far = block.direct;
    const named_work work = find_work(row.name, tables);
    const bool copy = work.copies;
    ++(copy ? far.copy_calls : far.kernels);
    far.products += work.products ? 1 : 0;
    far.as_data = far.as_data || !(work.fills || work.products);
    if (!copy) {
      keep_earlier(far.first_kernel, bounded(row.time));
      add_access(block, row.process, bounded(row.time), 0, work.fills ? access_kind::clear : access_kind::kernel);
    }
    return join(far.first, far.last, {bounded(row.time), row.id});
  }
  uses_of_block& of_block = at(row.block);
  bool& moves = moving_[raw(row.graph)];
  const named_work& work = find_work(row.name, tables);
  moves = moves || (work.copies && !work.fills);
  for (const std::uint32_t known : of_block.graphs) {
    graph_use& same = graph_uses_[known];
    if (same.graph != row.graph) continue;
    ++same.nodes;
    same.first = std::min(same.first, row.id);
    same.last = std::max(same.last, row.id);
    return;
  }
  of_block.graphs.push_back(static_cast<std::uint32_t>(graph_uses_.size()));
  graph_uses_.push_back({row.graph, 1, row.id, row.id});
}

void touch_index::set_known(trace::block_id block, const block_touches& uses) {
  const auto [place, fresh] = known_by_id_.put(raw(block), known_.size());
  if (fresh) known_.emplace_back();
  known_[place] = uses;
}

touch_index::process_works& touch_index::get_works(trace::process_id process) {
  const auto [place, fresh] = works_by_process_.put(raw(process), works_.size());
  if (fresh) works_.emplace_back().process = process;
  return works_[place];
}

const touch_index::process_works* touch_index::find_works(trace::process_id process) const {
  const std::size_t place = works_by_process_.find(raw(process));
  return place == id_lookup::none ? nullptr : &works_[place];
}

void touch_index::add_access(const uses_of_block& block, trace::process_id user, time_ns time, std::uint64_t bytes,
                             access_kind kind) {
  if (!collects_accesses_) return;
  accesses_.push_back({block.block, time, bytes, kind, static_cast<std::uint32_t>(&block - blocks_.data())});
  // The touches of one launch have the same time and are consecutive.
  auto& [process, works, kernels] = get_works(user);
  if (works.empty() || works.back() != time) works.push_back(time);
  if (kind == access_kind::kernel && (kernels.empty() || kernels.back() != time)) kernels.push_back(time);
}

template <class Copy>
void touch_index::add_copy(const Copy& row, time_ns time) {
  if (leaves_out(time)) return;
  for (const trace::block_id id : {row.source_block, row.destination_block}) {
    if (id == trace::block_id::none) continue;
    uses_of_block& block = at(id);
    uses_so_far& far = block.direct;
    ++far.copies;
    far.as_data = true;
    join(far.first, far.last, {time, row.id});
    const bool written = id == row.destination_block;
    const bool uploaded = written && row.direction == trace::direction::h2d;
    add_access(block, row.process, time, row.bytes,
               uploaded  ? access_kind::upload
               : written ? access_kind::write
                         : access_kind::read);
    if (id != row.destination_block || row.direction != trace::direction::h2d) continue;
    arrivals& in = far.from_host;
    in.first = in.count == 0 ? time : std::min(in.first, time);
    in.last = in.count == 0 ? time : std::max(in.last, time);
    ++in.count;
    if (row.source_kind == trace::memory_kind::host) ++in.pageable;
  }
}

void touch_index::add(const trace::transfer_event& row) { add_copy(row, enqueued_or(row.enqueued, row.time)); }

void touch_index::add(const trace::transfer_part_event& row) { add_copy(row, bounded(row.time)); }

void touch_index::add(const trace::memset_event& row) {
  const time_ns time = enqueued_or(row.enqueued, row.time);
  if (row.block == trace::block_id::none || leaves_out(time)) return;
  uses_of_block& block = at(row.block);
  ++block.direct.copies;
  join(block.direct.first, block.direct.last, {time, row.id});
  add_access(block, row.process, time, row.bytes, access_kind::clear);
}

void touch_index::add(const trace::graph_launch_event& row) {
  if (leaves_out(bounded(row.time))) return;
  const auto [at, fresh] = launches_.try_emplace(row.graph);
  if (fresh) {
    const auto before = [](const block_graph_use& each, trace::graph_id graph) { return each.use.graph < graph; };
    auto use = std::lower_bound(known_graph_uses_.begin(), known_graph_uses_.end(), row.graph, before);
    for (; use != known_graph_uses_.end() && use->use.graph == row.graph; ++use) add(*use);
  }
  launches& subject = at->second;
  const touch now{bounded(row.time), row.id};
  if (!subject.all.empty() && earlier(now, subject.all.back())) subject.sorted = false;
  subject.all.push_back(now);
}

void touch_index::add(const block_graph_use& use) {
  at(use.block).graphs.push_back(static_cast<std::uint32_t>(graph_uses_.size()));
  graph_uses_.push_back(use.use);
  bool& moves = moving_[raw(use.use.graph)];
  moves = moves || use.copies;
}

bool touch_index::graph_copies(trace::graph_id graph) const {
  const auto moves = moving_.find(raw(graph));
  return moves != moving_.end() && moves->second;
}

void touch_index::settle() {
  for (auto& [graph, subject] : launches_) {
    if (subject.sorted) continue;
    std::sort(subject.all.begin(), subject.all.end(), earlier);
    subject.sorted = true;
  }
  if (accesses_.size() == settled_accesses_) return;
  for (process_works& each : works_) {
    for (std::vector<time_ns>* const times : {&each.works, &each.kernels}) {
      sort_runs(*times, std::less<>());
      times->erase(std::unique(times->begin(), times->end()), times->end());
    }
  }
  all_works_ = {};
  for (std::size_t i = 0; works_.size() > 1 && i < works_.size(); ++i) {
    const process_works& each = works_[i];
    all_works_.works.insert(all_works_.works.end(), each.works.begin(), each.works.end());
    all_works_.kernels.insert(all_works_.kernels.end(), each.kernels.begin(), each.kernels.end());
  }
  sort_runs(all_works_.works, std::less<>());
  sort_runs(all_works_.kernels, std::less<>());
  // This is a counting sort by block, because the rows are already mostly in order of time.
  first_access_.assign(blocks_.size() + 1, 0);
  for (const access& each : accesses_) ++first_access_[each.place + 1];
  std::partial_sum(first_access_.begin(), first_access_.end(), first_access_.begin());
  std::vector<access> grouped(accesses_.size());
  std::vector<std::size_t> next(first_access_.begin(), first_access_.end() - 1);
  for (const access& each : accesses_) grouped[next[each.place]++] = each;
  accesses_ = std::move(grouped);
  const auto before = [](const access& a, const access& b) {
    return std::tuple(a.time, a.kind) < std::tuple(b.time, b.kind);
  };
  for (std::size_t place = 0; place < blocks_.size(); ++place) {
    const auto first = accesses_.begin() + static_cast<std::ptrdiff_t>(first_access_[place]);
    const auto last = accesses_.begin() + static_cast<std::ptrdiff_t>(first_access_[place + 1]);
    if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
  }
  settled_accesses_ = accesses_.size();
}

std::span<const access> touch_index::accesses_to(trace::block_id block) const {
  const std::size_t place = by_id_.find(raw(block));
  if (place == id_lookup::none || place + 1 >= first_access_.size()) return {};
  return std::span(accesses_).subspan(first_access_[place], first_access_[place + 1] - first_access_[place]);
}

std::uint64_t touch_index::works_in(trace::process_id process, time_range range) const {
  const process_works* const works = find_works(process);
  return works == nullptr ? 0 : count_in(works->works, range);
}

bool touch_index::has_works(trace::process_id process, time_range range, std::uint64_t least) const {
  const process_works* const works = find_works(process);
  if (works == nullptr) return false;
  const auto first = std::lower_bound(works->works.begin(), works->works.end(), range.begin);
  return static_cast<std::uint64_t>(works->works.end() - first) >= least &&
         first[static_cast<std::ptrdiff_t>(least) - 1] < range.end;
}

std::uint64_t touch_index::works_in(time_range range) const { return count_in(works_of_all().works, range); }

std::uint64_t touch_index::kernels_in(trace::process_id process, time_range range) const {
  const process_works* const works = find_works(process);
  return works == nullptr ? 0 : count_in(works->kernels, range);
}

std::uint64_t touch_index::kernels_in(time_range range) const { return count_in(works_of_all().kernels, range); }

block_touches touch_index::of(const block_record& block) const {
  if (const std::size_t known = known_by_id_.find(raw(block.id)); known != id_lookup::none) return known_[known];
  return so_far(block).all();
}

uses_so_far touch_index::so_far(const block_record& block) const {
  const std::size_t place = by_id_.find(raw(block.id));
  if (place == id_lookup::none) return {};
  uses_so_far far = blocks_[place].direct;
  if (!block.allocated) return far;
  for (const std::uint32_t which : blocks_[place].graphs) {
    const auto launched = launches_.find(graph_uses_[which].graph);
    if (launched == launches_.end()) continue;
    const std::vector<touch>& times = launched->second.all;
    const auto before = [](const touch& t, time_ns time) { return t.time < time; };
    const auto first = std::lower_bound(times.begin(), times.end(), block.born, before);
    const auto last = block.freed() ? std::lower_bound(first, times.end(), block.died, before) : times.end();
    if (first == last) continue;
    far.replays += static_cast<std::uint64_t>(last - first);
    join(far.first, far.last, *first);
    join(far.first, far.last, *(last - 1));
    keep_earlier(far.first_kernel, first->time);
  }
  return far;
}

std::uint64_t touch_index::launches_that_copy(time_range range) const {
  const auto before = [](const touch& t, time_ns time) { return t.time < time; };
  std::uint64_t count = 0;
  for (const auto& [graph, subject] : launches_) {
    if (!graph_copies(graph)) continue;
    const auto first = std::lower_bound(subject.all.begin(), subject.all.end(), range.begin, before);
    count += static_cast<std::uint64_t>(std::lower_bound(first, subject.all.end(), range.end, before) - first);
  }
  return count;
}

std::vector<graph_use> touch_index::find_graphs(trace::block_id block) const {
  std::vector<graph_use> uses;
  for (const block_graph_use& each : known_graph_uses_)
    if (each.block == block) uses.push_back(each.use);
  if (!known_graph_uses_.empty()) return uses;
  const std::size_t place = by_id_.find(raw(block));
  if (place == id_lookup::none) return uses;
  for (const std::uint32_t which : blocks_[place].graphs) uses.push_back(graph_uses_[which]);
  return uses;
}

}  // namespace sluice::index
