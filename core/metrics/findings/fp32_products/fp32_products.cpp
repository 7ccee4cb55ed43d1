#include "core/metrics/findings/fp32_products/fp32_products.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/metrics/idle/idle_gaps.hpp"

namespace sluice::metrics {
namespace {

bool contains(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

}  // namespace

bool is_fp32_product(std::string_view kernel) {
  for (const std::string_view part : {"cudnn", "convolve", "fprop", "dgrad", "wgrad", "fp16", "bf16", "_f16", "tf32"})
    if (contains(kernel, part)) return false;
  if (contains(kernel, "simt_sgemm") || contains(kernel, "xmma_gemm_f32f32_f32f32")) return true;
  if (contains(kernel, "magma_sgemmEx_kernel<float, float, float")) return true;
  // Programs have kernels of their own with "sgemm" in the name, which no setting changes.
  for (const std::string_view architecture : {"kepler", "maxwell", "pascal", "volta", "turing", "ampere", "hopper"})
    if (kernel.starts_with(architecture) && kernel.substr(architecture.size()).starts_with("_sgemm_")) return true;
  return false;
}

product_maker find_product_maker(std::string_view kernel) {
  if (contains(kernel, "at::native::") || contains(kernel, "at_cuda_detail::")) return product_maker::pytorch;
  return kernel.starts_with("cupy_") ? product_maker::cupy : product_maker::unknown;
}

const fp32_products_builder::name_kind& fp32_products_builder::get_kernel(trace::string_id name) {
  const auto [place, fresh] = kernels_.try_emplace(name);
  if (fresh) {
    const std::string text = readable_name(scope_.tables().text(name));
    place->second = {is_fp32_product(text), find_product_maker(text)};
  }
  return place->second;
}

bool fp32_products_builder::blocks(trace::string_id call) {
  const auto [place, fresh] = calls_.try_emplace(call);
  if (!fresh) return place->second;
  const gap_cause cause = cause_of_call(scope_.tables().text(call));
  place->second = cause == gap_cause::wait || cause == gap_cause::blocking_copy || cause == gap_cause::release;
  return place->second;
}

void fp32_products_builder::add_wait(replayed& subject, time_range wait) {
  // A wait that began when the device had no work returns no earlier than the host came.
  if (subject.until <= wait.begin) return;
  subject.host_gain = std::min(subject.device_gain, saturating_sum(subject.host_gain, wait.length()));
}

void fp32_products_builder::start_work(replayed& subject, const step& work) {
  if (work.queued <= 0) return;
  subject.requests_known = true;
  const time_ns requested = saturating_difference(work.span.begin, work.queued);
  if (subject.latest.size() == full_launch_queue) {
    const started& oldest = subject.latest.front();
    if (oldest.begin >= requested && oldest.requested < requested)
      subject.host_gain = std::max(subject.host_gain, oldest.gain);
    subject.latest.pop_front();
  }
  // Work requested when the device had none starts earlier only by what its request comes earlier.
  subject.device_gain = requested < subject.until
                            ? std::min(subject.device_gain, saturating_sum(subject.host_gain, work.queued))
                            : subject.host_gain;
  subject.latest.push_back({work.span.begin, requested, subject.device_gain});
}

void fp32_products_builder::add_work(replayed& subject, const step& work, const name_kind& kind) {
  start_work(subject, work);
  const time_ns alone = std::max<time_ns>(work.span.end - std::max(work.span.begin, subject.until), 0);
  subject.until = std::max(subject.until, work.span.end);
  fp32_products& into = subject.products;
  if (kind.maker != product_maker::unknown && into.maker == product_maker::unknown) into.maker = kind.maker;
  if (!kind.product) return;
  if (into.count == 0) into.first = work.span.begin;
  ++into.count;
  saturating_add(into.total, work.span.length());
  saturating_add(into.busy, alone);
  saturating_add(subject.names[work.name], work.span.length());
  into.last = std::max(into.last, work.span.end);
  saturating_add(subject.device_gain,
                 static_cast<time_ns>(static_cast<double>(alone) * (1 - fp32_products::tf32_length)));
}

void fp32_products_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  if (here.length() <= 0) return;
  std::map<trace::process_id, std::vector<step>> waits;
  for (const auto& [key, work] : store.host().threads()) {
    work.calls.for_each(here.begin, here.end, [&, &key = key](const timeline::slice_item& each, std::uint16_t) {
      const auto kind = static_cast<timeline::slice_kind>(each.kind);
      const bool waits_here =
          kind == timeline::slice_kind::sync || (kind != timeline::slice_kind::file_io && blocks(each.name));
      // A wait counts in the section in which it ends.
      if (!waits_here || each.end == latest_time || each.end > here.end || each.end <= here.begin) return;
      waits[key.process].push_back({{each.begin, each.end}, each.name, 0, true});
    });
  }
  std::map<std::pair<trace::process_id, trace::device_id>, std::vector<step>> steps;
  for (const auto& [key, slices] : store.devices().streams()) {
    if (!store.devices().ran_kernels(key.device)) continue;
    std::vector<step>& of_device = steps[{key.process, key.device}];
    slices.for_each(here.begin, here.end, [&](const timeline::slice_item& each, std::uint16_t) {
      if (each.end == latest_time || !here.holds(each.begin)) return;
      const bool kernel = static_cast<timeline::slice_kind>(each.kind) == timeline::slice_kind::kernel;
      of_device.push_back({{each.begin, each.end}, kernel ? each.name : trace::string_id{}, each.queued, false});
    });
  }
  for (auto& [key, whole] : steps) {
    const std::vector<step>& of_process = waits[key.first];
    whole.insert(whole.end(), of_process.begin(), of_process.end());
    // The end of a wait is when its gain is known, the start of work when the work waits no more.
    const auto place = [](const step& each) {
      return std::tuple(each.waits ? each.span.end : each.span.begin, each.waits, each.span.end, each.name);
    };
    std::sort(whole.begin(), whole.end(), [&](const step& a, const step& b) { return place(a) < place(b); });
    replayed& subject = all_[key];
    for (const step& each : whole) {
      if (each.waits)
        add_wait(subject, each.span);
      else
        add_work(subject, each, get_kernel(each.name));
    }
  }
}

std::vector<fp32_products> fp32_products_builder::metrics() const {
  std::vector<fp32_products> items;
  for (const auto& [key, subject] : all_) {
    if (subject.products.count == 0) continue;
    fp32_products& each = items.emplace_back(subject.products);
    std::tie(each.process, each.device) = key;
    each.saved = subject.requests_known
                     ? subject.device_gain
                     : static_cast<time_ns>(static_cast<double>(each.busy) * (1 - fp32_products::tf32_length));
    for (const auto& [name, total] : subject.names)
      if (total > each.longest_total) std::tie(each.longest_name, each.longest_total) = std::tie(name, total);
  }
  return items;
}

}  // namespace sluice::metrics
