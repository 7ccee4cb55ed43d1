#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/metrics/findings/repeats/descriptor.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/findings/transfers/thresholds.hpp"

/// Findings about redundant copies to the GPU: repeated data, data that came from the GPU, and zeros.
namespace sluice::metrics {
namespace {

/// Describes the source of the repeated data, as part of a sentence.
std::string whence(const repeat_metrics& repeated) {
  if (repeated.same_source.copies == repeated.all.copies) return ", unchanged at the same address";
  if (repeated.same_source.copies == 0) return ", each time from another address";
  return fmt::format(", {} unchanged at the same address", format_count(repeated.same_source.copies));
}

/// Returns the time with copies but without a kernel. Removing copies cannot save more than that.
double waited_for_copies(const report& subject) {
  double total = 0;
  for (const device_activity& each : subject.whole.devices)
    total += static_cast<double>(each.kernels > 0 ? each.copy_only : each.copy_busy);
  return total;
}

/// True for amounts so small that they justify neither GPU memory to keep the data nor a finding.
bool is_little(const copy_metrics& metrics) {
  return static_cast<double>(metrics.bytes) < mebi && metrics.copies < min_small_copies;
}

/// Returns a sentence about copies whose content was only sampled; empty if there are none.
std::string sampled_sentence(std::uint64_t copies, std::uint64_t exact, std::string_view verb) {
  if (copies <= exact) return "";
  if (exact == 0) return fmt::format(" Only a sample of their bytes was {}.", verb);
  return fmt::format(" For {} of them, only a sample of the bytes was {}.", format_count(copies - exact), verb);
}

std::string_view instead_of_round_trip(const std::string& maker) {
  if (maker == "PyTorch")
    return "Keep the tensor on the GPU and use it there, without .cpu(), .numpy() or .to(device) in between.";
  if (maker == "CuPy")
    return "Keep the cupy.ndarray and use it there, without cupy.asnumpy() and cupy.asarray() in between.";
  if (maker == "JAX") return "Keep the jax.Array and pass it on, without numpy.asarray() and jnp.asarray() in between.";
  if (maker == "Numba")
    return "Keep the device array and pass it on, without copy_to_host() and cuda.to_device() in between.";
  return "Keep the device pointer and pass it on. Copy only data that the host reads.";
}

std::string_view instead_of_zeros(const std::string& maker) {
  if (maker == "PyTorch")
    return "Create them on the GPU: torch.zeros(..., device=device), or x.zero_() to clear x again.";
  if (maker == "CuPy") return "Create them on the GPU: cupy.zeros(...), or x.fill(0) to clear x again.";
  if (maker == "JAX") return "Create them on the GPU: jnp.zeros(...), not a NumPy array that is copied.";
  if (maker == "Numba") return "Create them on the GPU: allocate with cuda.device_array() and clear it in a kernel.";
  return "Clear the memory on the GPU: cudaMemsetAsync.";
}

/// Returns the copies to or from a GPU that `is_one` chooses, as parts of a saving.
template <class Choose>
std::vector<saved_part> find_parts(const finder& in, Choose&& is_one) {
  std::vector<saved_part> parts;
  for (const copy_group& each : in.whole.waste.copies)
    if ((each.direction == trace::direction::h2d || each.direction == trace::direction::d2h) && is_one(each))
      parts.push_back(finder::part_of(each));
  return parts;
}

}  // namespace

void find_round_trips(finder& in) {
  const std::vector<round_trip_stacks>& found = in.whole.duplicates.round_trips;
  const round_trip_metrics trip_metrics = get_sum(found);
  if (is_little(trip_metrics.to_device)) return;
  const time_ns busy = trip_metrics.to_host.busy + trip_metrics.to_device.busy;
  std::string text =
      fmt::format("Data was copied to the host and back to the GPU unchanged {} ({} each way, {} in total{}).",
                  format_some(trip_metrics.to_device.copies, "time"), format_bytes(trip_metrics.to_device.bytes),
                  format_time(busy), in.share_if_less(busy));
  std::vector<const round_trip_stacks*> groups;
  for (const round_trip_stacks& each : found) groups.push_back(&each);
  std::map<std::pair<std::string, std::string>, std::uint64_t> bytes_by_lines;
  for (const round_trip_stacks* each : groups)
    bytes_by_lines[{to_text(in.places.of(each->up)), to_text(in.places.of(each->down))}] += each->to_device.bytes;
  const auto most = std::max_element(bytes_by_lines.begin(), bytes_by_lines.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto named = std::find_if(groups.begin(), groups.end(), [&](const round_trip_stacks* each) {
    return to_text(in.places.of(each->up)) == most->first.first &&
           to_text(in.places.of(each->down)) == most->first.second;
  });
  const code_place place = in.places.of((*named)->up);
  const auto& [up, down] = most->first;
  if (!up.empty() && !down.empty())
    text += fmt::format(" Of that, {} went to the host at {} and back at {}.", format_bytes(most->second), down, up);
  else if (!up.empty())
    text += fmt::format(" Of that, {} went back at {}.", format_bytes(most->second), up);
  text += sampled_sentence(trip_metrics.to_device.copies, trip_metrics.exact, "compared");
  const copy_metrics& unseen = in.whole.duplicates.unseen_results;
  if (unseen.copies > 0) {
    text += fmt::format(" Not compared: {} to the host, {}.", format_some(unseen.copies, "copy"),
                        format_bytes(unseen.bytes));
  }
  finding& f = in.add(finding_kind::round_trips, std::move(text), std::string(instead_of_round_trip(place.maker)));
  f.saves = in.time(std::min(static_cast<double>(busy), waited_for_copies(in.whole)), saving_basis::measured);
  f.event = (*named)->largest;
  f.only_note = trip_metrics.to_device.copies < min_recurring;
  f.where = place;
  f.parts = find_parts(in, [&](const copy_group& copies) {
    return std::any_of(found.begin(), found.end(), [&](const round_trip_stacks& each) {
      return copies.stack == (copies.direction == trace::direction::h2d ? each.up : each.down);
    });
  });
}

void find_zero_uploads(finder& in) {
  const std::vector<zero_stack>& found = in.whole.duplicates.zeros;
  const zero_metrics whole = get_sum(found);
  if (is_little(whole.all)) return;
  std::string text =
      fmt::format("Zeros were copied to the GPU {} ({}, {}{}).", format_some(whole.all.copies, "time"),
                  format_bytes(whole.all.bytes), format_time(whole.all.busy), in.share_if_less(whole.all.busy));
  std::vector<const zero_stack*> groups;
  for (const zero_stack& each : found) groups.push_back(&each);
  const auto lines = by_line(groups, in.places, [](const zero_stack& each) { return each.all.bytes; });
  const auto& [place, stacks] = lines.front();
  if (!to_text(place).empty()) {
    copy_metrics of_line;
    for (const zero_stack* each : stacks) of_line.add(each->all);
    text += fmt::format(" Of that, {} by {}: {}.", format_bytes(of_line.bytes), to_text(place),
                        format_some(of_line.copies, "copy"));
  }
  text += sampled_sentence(whole.all.copies, whole.exact, "checked");
  finding& f = in.add(finding_kind::zero_uploads, std::move(text), std::string(instead_of_zeros(place.maker)));
  f.saves = in.time(std::min(static_cast<double>(whole.all.busy), waited_for_copies(in.whole)), saving_basis::measured);
  f.event = stacks.front()->largest;
  f.only_note = whole.all.copies < min_recurring;
  f.where = place;
  in.set_fix(f, zero_uploads_fixes);
  f.parts = find_parts(in, [&](const copy_group& copies) {
    return copies.direction == trace::direction::h2d &&
           std::any_of(found.begin(), found.end(), [&](const zero_stack& each) { return each.stack == copies.stack; });
  });
}

void find_repeated_copies(finder& in) {
  const duplicate_copies& found = in.whole.duplicates;
  const copy_metrics& again = found.repeated.all;
  if (is_little(again)) return;
  std::string text = fmt::format("The same data was copied to the GPU again {} ({}, {}{}){}.",
                                 format_some(again.copies, "time"), format_bytes(again.bytes), format_time(again.busy),
                                 in.share_if_less(again.busy), whence(found.repeated));
  code_place place;
  if (!found.lines.empty()) {
    const repeating_line& most = found.lines.front();
    place.known = true;
    place.line = place.caller = most.line;
    text += fmt::format(" Of that, {} by {}: {}.", format_bytes(most.metrics.all.bytes), to_text(place),
                        format_some(most.metrics.all.copies, "copy"));
  }
  text += sampled_sentence(again.copies, found.repeated.exact.copies, "compared");
  if (found.over_budget.copies > 0) {
    text += fmt::format(" Not compared, to save time: {}, {}.", format_some(found.over_budget.copies, "copy"),
                        format_bytes(found.over_budget.bytes));
  }
  if (found.graph_launches > 0)
    text +=
        fmt::format(" Copies in graphs (launched {}) were not compared.", format_some(found.graph_launches, "time"));
  finding& f = in.add(finding_kind::repeated_copies, std::move(text),
                      "Copy the data once and keep it on the GPU. If only parts change, copy those.");
  f.saves = in.time(std::min(static_cast<double>(again.busy), waited_for_copies(in.whole)), saving_basis::measured);
  f.event = found.largest;
  f.where = place;
  in.set_fix(f, repeated_copies_fixes);
  f.parts = find_parts(in, [&](const copy_group& copies) {
    const code_place& of_copy = in.places.of(copies.stack);
    return copies.direction == trace::direction::h2d &&
           (!of_copy.known || std::any_of(found.lines.begin(), found.lines.end(), [&](const repeating_line& each) {
             return each.line.file == of_copy.line.file && each.line.line == of_copy.line.line &&
                    each.line.function == of_copy.line.function;
           }));
  });
}

}  // namespace sluice::metrics
