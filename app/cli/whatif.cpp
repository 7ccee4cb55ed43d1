// sluice whatif: what PyTorch's allocator would have reserved under other settings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/number_option.hpp"
#include "app/cli/recording_file.hpp"
#include "app/cli/text_table.hpp"
#include "app/cli/verbs.hpp"
#include "core/base/format.hpp"
#include "core/index/growing_index.hpp"
#include "core/replay/replay.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;

struct whatif_options {
  std::string file;
  std::vector<std::string> policies;
  std::string format = "text";
  std::optional<std::int64_t> device;
};

/// The answer, and what is needed to print it.
struct whatif_answer {
  std::vector<replay::allocator_requests> requests;
  std::vector<replay::policy_result> results;
  std::vector<std::optional<replay::native_error>> errors;  ///< For each allocator.
  std::shared_ptr<const trace::snapshot> snapshot;
};

std::int64_t ordinal_of(trace::device_id device, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(device);
  return row == nullptr ? -1 : row->ordinal;
}

std::uint64_t pid_of(trace::process_id process, const trace::tables& tables) {
  const trace::process_row* row = tables.processes.find(process);
  return row == nullptr ? 0 : row->pid;
}

result<std::vector<replay::policy>> policies_of(const std::vector<std::string>& texts) {
  if (texts.empty()) return replay::default_policies();
  std::vector<replay::policy> all;
  for (const std::string& text : texts) {
    auto one = replay::parse_policy(text);
    if (!one) return tl::unexpected(one.error());
    all.push_back(std::move(*one));
  }
  return all;
}

result<whatif_answer> answer(const whatif_options& wanted) {
  const auto policies = policies_of(wanted.policies);
  if (!policies) return tl::unexpected(policies.error());
  const auto file = open_recording(wanted.file, wanted_of_recording::rows);
  if (!file) return tl::unexpected(file.error());
  whatif_answer made;
  made.snapshot = (*file)->latest();
  analysis::growing_index index;
  while (!index.absorb(*made.snapshot, made.snapshot->chunks().size() + 1)) {
  }
  const trace::tables& tables = made.snapshot->tables();
  made.requests = replay::requests_of(index.memory(), tables);
  if (made.requests.empty())
    return fail(error_code::not_found, "no allocations of PyTorch are in the recording", wanted.file,
                "record a program that uses torch.cuda, or open a snapshot of torch.cuda.memory");
  if (wanted.device)
    std::erase_if(made.requests, [&](const auto& each) { return ordinal_of(each.device, tables) != *wanted.device; });
  if (made.requests.empty())
    return fail(error_code::invalid_argument, fmt::format("PyTorch allocated nothing on device {}", *wanted.device),
                wanted.file, "leave --device out to see which devices there are");
  made.results = replay::replay_policies(made.requests, *policies);
  const auto native = *replay::parse_policy("native");
  for (std::size_t i = 0; i < made.requests.size(); ++i)
    made.errors.push_back(replay::error_of(made.requests[i], replay::replay_policy(made.requests[i], native)));
  return made;
}

/// What limits the answer, one line each.
std::vector<std::string> notes_of(const whatif_answer& of) {
  std::vector<std::string> notes;
  const auto note = [&](const replay::allocator_requests& about, const std::string& text) {
    const trace::tables& tables = of.snapshot->tables();
    notes.push_back(of.requests.size() == 1 ? text
                                            : fmt::format("process {}, GPU {}: {}", pid_of(about.process, tables),
                                                          ordinal_of(about.device, tables), text));
  };
  for (std::size_t i = 0; i < of.requests.size(); ++i) {
    const auto& each = of.requests[i];
    if (!each.recorded.segments_known) note(each, "no segments were recorded: all blocks count as one stream's");
    if (each.recorded.mapped) note(each, "recorded under expandable_segments: sizes asked for are those of blocks");
    if (each.limit_inferred)
      note(each, fmt::format("the cache was emptied near a limit of about {}", format_bytes(each.limit)));
    const auto& error = of.errors[i];
    if (!error || error->exact()) continue;
    note(each, fmt::format("the native model differs from the recording: peak {}{}, segments {:+}, driver calls {:+}",
                           error->peak_reserved < 0 ? "-" : "+",
                           format_bytes(static_cast<double>(std::abs(error->peak_reserved))), error->segments,
                           error->driver_calls));
  }
  return notes;
}

void put(const replay::replay_figures& figures, json& into) {
  into["peak_reserved_bytes"] = figures.peak_reserved;
  into["peak_allocated_bytes"] = figures.peak_allocated;
  into["segments"] = figures.segments;
  into["driver_calls"] = figures.driver_calls;
  into["largest_hole_bytes"] = figures.largest_hole;
  into["retries"] = figures.retries;
  into["failures"] = figures.failures;
}

json error_json(const std::optional<replay::native_error>& error) {
  if (!error) return nullptr;
  return {{"peak_reserved_bytes", error->peak_reserved},
          {"segments", error->segments},
          {"driver_calls", error->driver_calls}};
}

/// The sum over all allocators; null if none can be compared.
std::optional<replay::native_error> summed(const std::vector<std::optional<replay::native_error>>& errors) {
  std::optional<replay::native_error> sum;
  for (const auto& each : errors) {
    if (!each) continue;
    if (!sum) sum.emplace();
    sum->peak_reserved += each->peak_reserved;
    sum->segments += each->segments;
    sum->driver_calls += each->driver_calls;
  }
  return sum;
}

std::string json_of(const whatif_answer& of) {
  const trace::tables& tables = of.snapshot->tables();
  json all;
  all["schema"] = 1;
  all["policies"] = json::array();
  for (const replay::policy_result& each : of.results) {
    json one{{"policy", each.by.text}};
    put(each.sum, one);
    one["devices"] = json::array();
    for (std::size_t i = 0; i < each.figures.size(); ++i) {
      json part{{"process", pid_of(of.requests[i].process, tables)},
                {"device", ordinal_of(of.requests[i].device, tables)}};
      put(each.figures[i], part);
      one["devices"].push_back(std::move(part));
    }
    all["policies"].push_back(std::move(one));
  }
  all["recorded"] = json::array();
  for (std::size_t i = 0; i < of.requests.size(); ++i) {
    const auto& each = of.requests[i];
    json one{{"process", pid_of(each.process, tables)}, {"device", ordinal_of(each.device, tables)}};
    one["allocations"] = each.blocks;
    one["arenas"] = each.arenas;
    const bool known = each.recorded.segments_known;
    one["peak_reserved_bytes"] = known ? json(each.recorded.peak_reserved) : json(nullptr);
    one["segments"] = known ? json(each.recorded.peak_segments) : json(nullptr);
    one["driver_calls"] = known ? json(each.recorded.driver_calls) : json(nullptr);
    one["limit_bytes"] = each.limit != 0 ? json(each.limit) : json(nullptr);
    one["native_error"] = error_json(of.errors[i]);
    all["recorded"].push_back(std::move(one));
  }
  all["native_error"] = error_json(summed(of.errors));
  all["notes"] = notes_of(of);
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string text_of(const whatif_answer& of) {
  std::uint64_t recorded = 0;
  for (const auto& each : of.requests) recorded += each.recorded.peak_reserved;
  std::string text = fmt::format("Recorded: at most {} reserved\n\n", format_bytes(recorded));
  text_table table("lrrrrr");
  table.row({"policy", "reserved", "allocated", "segments", "driver calls", "largest hole"});
  for (const replay::policy_result& each : of.results) {
    table.row({each.by.text + (each.sum.failures > 0 ? " (out of memory)" : ""), format_bytes(each.sum.peak_reserved),
               format_bytes(each.sum.peak_allocated), format_count(each.sum.segments),
               format_count(each.sum.driver_calls), format_bytes(each.sum.largest_hole)});
  }
  text += table.text(2);
  const auto notes = notes_of(of);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += "Note: " + note + "\n";
  return text;
}

int print(const whatif_options& wanted) {
  const auto found = answer(wanted);
  if (!found) {
    complain(found.error().to_string());
    return status_of(found.error());
  }
  const bool as_json = wanted.format == "json";
  const std::string text = as_json ? json_of(*found) : text_of(*found);
  if (!(as_json ? print_document(text) : cli::print(text)) || std::fflush(stdout) != 0) {
    complain("cannot write the answer: the output was closed or is full");
    return status_failed;
  }
  return 0;
}

}  // namespace

action declare_whatif(CLI::App& command) {
  auto wanted = std::make_shared<whatif_options>();
  command.add_option("FILE", wanted->file, "Recording, or a memory snapshot of PyTorch")->required()->type_name("");
  command
      .add_option("--policy", wanted->policies,
                  "Setting as in PYTORCH_CUDA_ALLOC_CONF, or native, sluice, \"best fit\" (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("P");
  command.add_option("--device", wanted->device, "Only the device of this number")
      ->check(whole_between(0, 4096))
      ->type_name("N");
  command.add_option("--format", wanted->format, "Output format")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json")
      ->capture_default_str();
  return [wanted] { return print(*wanted); };
}

}  // namespace sluice::cli
