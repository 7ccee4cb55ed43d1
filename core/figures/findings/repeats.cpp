#include <fmt/format.h>

#include "core/base/format.hpp"
#include "core/figures/findings/finder.hpp"
#include "core/figures/findings/thresholds.hpp"

/// Data that is copied to the GPU again: the same once more, what came from it, and zeros.
namespace sluice::analysis {
namespace {

/// Where the repeated data came from, as part of a sentence.
std::string whence(const repeat_figures& repeated) {
  if (repeated.same_source.copies == repeated.all.copies) return ", unchanged at the same address";
  if (repeated.same_source.copies == 0) return ", each time from another address";
  return fmt::format(", {} unchanged at the same address", format_count(repeated.same_source.copies));
}

/// Time in which devices ran no kernel beside a copy: copying less saves no more.
double waited_for_copies(const report& of) {
  double all = 0;
  for (const device_activity& each : of.whole.devices)
    all += static_cast<double>(each.kernels > 0 ? each.copy_only : each.copy_busy);
  return all;
}

/// Less is worth neither the memory to keep it on the GPU nor a finding.
bool is_little(const copy_figures& figures) {
  return static_cast<double>(figures.bytes) < mebi && figures.copies < least_small_copies;
}

/// What was compared by a sample only, as a sentence; empty if nothing was.
std::string sampled_sentence(std::uint64_t copies, std::uint64_t exact, std::string_view verb) {
  if (copies <= exact) return "";
  if (exact == 0) return fmt::format(" A sample of their bytes was {}.", verb);
  return fmt::format(" Of {} a sample of the bytes was {}.", format_count(copies - exact), verb);
}

std::string_view instead_of_round_trip(const std::string& maker) {
  if (maker == "PyTorch")
    return "Keep the tensor on the GPU and use it there: no .cpu(), .numpy() or .to(device) in between.";
  if (maker == "CuPy")
    return "Keep the cupy.ndarray and use it there: no cupy.asnumpy() and cupy.asarray() in between.";
  if (maker == "JAX") return "Pass the jax.Array on: no numpy.asarray() and jnp.asarray() in between.";
  if (maker == "Numba") return "Pass the device array on: no copy_to_host() and cuda.to_device() in between.";
  return "Pass the device pointer on. Copy to the host only what the host reads.";
}

std::string_view instead_of_zeros(const std::string& maker) {
  if (maker == "PyTorch")
    return "Make them on the GPU: torch.zeros(..., device=device), or x.zero_() to clear x again.";
  if (maker == "CuPy") return "Make them on the GPU: cupy.zeros(...), or x.fill(0) to clear x again.";
  if (maker == "JAX") return "Make them on the GPU: jnp.zeros(...), not a NumPy array that is copied.";
  if (maker == "Numba") return "Make them on the GPU: allocate with cuda.device_array() and clear it in a kernel.";
  return "Clear the memory on the GPU: cudaMemsetAsync.";
}

}  // namespace

void find_round_trips(finder& in) {
  const std::vector<round_trip_stacks>& found = in.of.duplicates.round_trips;
  const round_trip_figures all = sum_of(found);
  if (is_little(all.to_device)) return;
  const time_ns busy = all.to_host.busy + all.to_device.busy;
  std::string text =
      fmt::format("Data was copied to the host and back to the GPU unchanged {} ({} each way, {} in all{}).",
                  format_some(all.to_device.copies, "time"), format_bytes(all.to_device.bytes), format_time(busy),
                  in.share_of_active(busy));
  std::vector<const round_trip_stacks*> groups;
  for (const round_trip_stacks& each : found) groups.push_back(&each);
  std::map<std::pair<std::string, std::string>, std::uint64_t> bytes_of;
  for (const round_trip_stacks* each : groups)
    bytes_of[{text_of(in.places.of(each->up)), text_of(in.places.of(each->down))}] += each->to_device.bytes;
  const auto most = std::max_element(bytes_of.begin(), bytes_of.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto named = std::find_if(groups.begin(), groups.end(), [&](const round_trip_stacks* each) {
    return text_of(in.places.of(each->up)) == most->first.first &&
           text_of(in.places.of(each->down)) == most->first.second;
  });
  const code_place place = in.places.of((*named)->up);
  const auto& [up, down] = most->first;
  if (!up.empty() && !down.empty())
    text += fmt::format(" {} of that to the host by {} and back by {}.", format_bytes(most->second), down, up);
  else if (!up.empty())
    text += fmt::format(" {} of that back by {}.", format_bytes(most->second), up);
  text += sampled_sentence(all.to_device.copies, all.exact, "compared");
  const copy_figures& unseen = in.of.duplicates.unseen_results;
  if (unseen.copies > 0) {
    text += fmt::format(" Not looked at: {} to the host, {}.", format_some(unseen.copies, "copy"),
                        format_bytes(unseen.bytes));
  }
  finding& f = in.add(finding_kind::round_trips, std::move(text), std::string(instead_of_round_trip(place.maker)));
  f.saves = in.time(std::min(static_cast<double>(busy), waited_for_copies(in.of)), saving_basis::measured);
  f.event = (*named)->largest;
  f.only_note = all.to_device.copies < least_recurring;
  f.where = place;
}

void find_zero_uploads(finder& in) {
  const std::vector<zero_stack>& found = in.of.duplicates.zeros;
  const zero_figures all = sum_of(found);
  if (is_little(all.all)) return;
  std::string text =
      fmt::format("Zeros were copied to the GPU {} ({}, {}{}).", format_some(all.all.copies, "time"),
                  format_bytes(all.all.bytes), format_time(all.all.busy), in.share_of_active(all.all.busy));
  std::vector<const zero_stack*> groups;
  for (const zero_stack& each : found) groups.push_back(&each);
  const auto lines = by_line(groups, in.places, [](const zero_stack& each) { return each.all.bytes; });
  const auto& [place, stacks] = lines.front();
  if (!text_of(place).empty()) {
    copy_figures of_line;
    for (const zero_stack* each : stacks) of_line.add(each->all);
    text += fmt::format(" {} of that by {}: {}.", format_bytes(of_line.bytes), text_of(place),
                        format_some(of_line.copies, "copy"));
  }
  text += sampled_sentence(all.all.copies, all.exact, "looked at");
  finding& f = in.add(finding_kind::zero_uploads, std::move(text), std::string(instead_of_zeros(place.maker)));
  f.saves = in.time(std::min(static_cast<double>(all.all.busy), waited_for_copies(in.of)), saving_basis::measured);
  f.event = stacks.front()->largest;
  f.only_note = all.all.copies < least_recurring;
  f.where = place;
}

void find_repeated_copies(finder& in) {
  const duplicate_copies& found = in.of.duplicates;
  const copy_figures& again = found.repeated.all;
  if (is_little(again)) return;
  std::string text = fmt::format("The same data was copied to the GPU again {} ({}, {}{}){}.",
                                 format_some(again.copies, "time"), format_bytes(again.bytes), format_time(again.busy),
                                 in.share_of_active(again.busy), whence(found.repeated));
  code_place place;
  if (!found.lines.empty()) {
    const repeating_line& most = found.lines.front();
    place.known = true;
    place.line = place.caller = most.line;
    text += fmt::format(" {} of that by {}: {}.", format_bytes(most.figures.all.bytes), text_of(place),
                        format_some(most.figures.all.copies, "copy"));
  }
  text += sampled_sentence(again.copies, found.repeated.exact.copies, "compared");
  if (found.over_budget.copies > 0) {
    text += fmt::format(" Not compared, to save time: {}, {}.", format_some(found.over_budget.copies, "copy"),
                        format_bytes(found.over_budget.bytes));
  }
  if (found.graph_launches > 0)
    text +=
        fmt::format(" Copies in graphs, launched {}, were not compared.", format_some(found.graph_launches, "time"));
  finding& f = in.add(finding_kind::repeated_copies, std::move(text),
                      "Copy it once and keep it on the GPU. Where only parts change, copy those.");
  f.saves = in.time(std::min(static_cast<double>(again.busy), waited_for_copies(in.of)), saving_basis::measured);
  f.event = found.largest;
  f.where = place;
}

}  // namespace sluice::analysis
