#include "app/gui/views/stacks/host_words.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace sluice::gui {
namespace {

/// The recorder's messages about sampling contain these words (instrumentation/writer/session/session_sampling.cpp).
constexpr std::string_view words_about_sampling = "host threads";

panel_words explain_no_samples(const std::vector<query::message>& messages) {
  const auto told = std::find_if(messages.begin(), messages.end(), [](const query::message& each) {
    return each.text.find(words_about_sampling) != std::string::npos;
  });
  if (told != messages.end())
    return {"Host threads were not sampled",
            told->text + ". `sluice doctor` says what is missing and how to allow it."};
  return {"Host threads were not sampled",
          "This recording was made without sampling: record with \"Timeline\" (File, Record a program), and without "
          "--no-sampling."};
}

}  // namespace

query::host_stacks_query make_query(const host_choice& choice, time_range range) {
  query::host_stacks_query wanted;
  wanted.filter = {range, choice.only_idle, choice.only_launching, choice.device, choice.process};
  wanted.order = choice.inverted ? metrics::stack_order::from_callee : metrics::stack_order::from_caller;
  wanted.fold = !choice.libraries;
  return wanted;
}

time_range choose_range(const metrics::range_statistics* statistics, time_range span) {
  if (statistics == nullptr) return span;
  std::optional<time_range> active;
  for (const metrics::device_activity& each : statistics->devices) {
    if (each.kernels == 0) continue;
    if (!active) active = {each.first, each.last};
    active = {std::min(active->begin, each.first), std::max(active->end, each.last)};
  }
  return active.value_or(span);
}

std::optional<panel_words> explain_empty(const query::host_stacks& found, const host_choice& choice,
                                         const std::string& device, const std::vector<query::message>& messages) {
  if (!found.sampled) return explain_no_samples(messages);
  if (found.view.tree.nodes.front().all.busy > 0) return std::nullopt;
  if (choice.only_idle && !found.device)
    return panel_words{"No kernels were recorded", "Choose \"all of the range\" to see what host threads did."};
  if (choice.only_idle && found.idle == 0)
    return panel_words{device + " was never idle here", "Choose \"all of the range\", or another range."};
  return panel_words{"No samples here", choice.only_launching
                                            ? "No thread that launches kernels was sampled. Choose \"all threads\"."
                                            : "No host thread was sampled in this time."};
}

std::string get_total(const query::host_stacks& found, const host_choice& choice, const std::string& device) {
  std::string text = format_time(found.view.tree.nodes.front().all.busy) + " of ";
  text += choice.only_launching && found.launches_known ? "threads that launch kernels" : "all threads";
  if (choice.only_idle && found.device) text += ", in " + format_time(found.idle) + " in which " + device + " was idle";
  return text;
}

}  // namespace sluice::gui
